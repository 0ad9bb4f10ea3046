"""The ad server's pages in Django's admin site: lists and forms."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.forms import AdminAuthenticationForm
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html

from common.rate_limit import RateLimit
from shop.ads.management import reports
from shop.ads.models import (
    Advertiser,
    Banner,
    Concept,
    Contract,
    Delivery,
    Page,
    Placement,
    Publisher,
    Server,
    Slot,
    check_concepts,
)

admin.site.site_header = admin.site.site_title = "Doorbuster ad server"
admin.site.index_title = "Contracts, banners, slots"
admin.site.site_url = None
admin.site.enable_nav_sidebar = False  # the lists need the space

WRONG_PASSWORDS = RateLimit(10, within_s=300.0)
"""The limit on wrong passwords from one address in one server process."""


class LoginForm(AdminAuthenticationForm):
    """The login form. If an address has reached the limit on wrong passwords, the form does not
    check further passwords from this address.
    """

    def clean(self) -> dict[str, Any]:
        assert self.request is not None  # the login page passes it on
        # The gateway replaces this field, so a visitor cannot choose it.
        address = self.request.headers.get("X-Forwarded-For", self.request.META["REMOTE_ADDR"])
        if wait_s := WRONG_PASSWORDS.reserve(address):
            raise forms.ValidationError(f"Too many wrong passwords. Try again in {wait_s} s.")
        cleaned = super().clean()
        WRONG_PASSWORDS.give_back(address)  # the password was right
        return cleaned


admin.site.login_form = LoginForm


@admin.register(Concept)
class ConceptAdmin(admin.ModelAdmin):
    search_fields = ("word",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # the capacity check used these words


@admin.register(Advertiser, Publisher)
class NamedAdmin(admin.ModelAdmin):
    """The admin pages of advertisers and of publishers, whose forms have only the name."""

    search_fields = ("name",)


class SlotInline(admin.TabularInline):
    model = Slot
    autocomplete_fields = ("concepts",)
    extra = 0


@admin.register(Page)
class PageAdmin(admin.ModelAdmin):
    """The admin pages of publishers' pages, with their forecasts and slots."""

    list_display = ("name", "publisher", "views_per_day", "shown", "clicks", "click_rate")
    list_filter = ("publisher",)
    list_select_related = ("publisher", "placement")
    search_fields = ("name", "publisher__name")
    inlines = (SlotInline,)

    @admin.display(ordering="placement__impressions")
    def shown(self, page: Page) -> int:
        return _placement(page).impressions

    @admin.display(ordering="placement__clicks")
    def clicks(self, page: Page) -> int:
        return _placement(page).clicks

    @admin.display(description="click rate")
    def click_rate(self, page: Page) -> str:
        placement = _placement(page)
        return _percent(reports.rate(placement.clicks, placement.impressions), 2)


class BannerForm(forms.ModelForm):
    def clean_concepts(self) -> Any:
        concepts = self.cleaned_data["concepts"]
        try:
            check_concepts(list(concepts))
        except forms.ValidationError as error:
            raise forms.ValidationError(error.message_dict["concepts"]) from error
        return concepts


@admin.register(Banner)
class BannerAdmin(admin.ModelAdmin):
    """The admin pages of banners. If a banner has a contract, its size and concepts cannot be
    changed, because the contract's capacity check used them.
    """

    form = BannerForm
    list_display = ("id", "headline", "size", "advertiser")
    list_filter = ("size",)
    list_select_related = ("advertiser",)
    search_fields = ("headline", "advertiser__name")
    autocomplete_fields = ("advertiser", "concepts", "not_beside_banners", "not_beside_advertisers")
    show_full_result_count = False

    def get_readonly_fields(self, request: HttpRequest, obj: Banner | None = None) -> Any:
        contracted = obj is not None and Contract.objects.filter(banner=obj).exists()
        return ("picture", "size", "concepts") if contracted else ("picture",)

    @admin.display(description="picture")
    def picture(self, banner: Banner) -> str:
        if banner.pk is None:
            return "The picture appears after the banner is saved."
        return format_html('<img src="/ads/banner/{}.svg" alt="">', banner.pk)


@admin.register(Contract)
class ContractAdmin(admin.ModelAdmin):
    """The admin pages of contracts and their reports. A form is accepted only if the capacity is
    sufficient for the contract.
    """

    list_display = ("id", "advertiser", "headline", "impressions", "ends", "delivered", "pace",
                    "clicks", "click_rate")  # fmt: skip
    list_select_related = ("banner__advertiser", "banner__delivery")
    list_filter = ("banner__size",)
    search_fields = ("banner__headline", "banner__advertiser__name")
    autocomplete_fields = ("banner",)
    readonly_fields = ("accepted", "renews")
    actions = ("end",)
    show_full_result_count = False

    def get_readonly_fields(self, request: HttpRequest, obj: Contract | None = None) -> Any:
        return self.readonly_fields if obj is None else ("banner", *self.readonly_fields)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # deliveries must be kept; the action ends contracts

    def save_model(self, request: HttpRequest, obj: Contract, form: Any, change: bool) -> None:
        if "ends" in form.changed_data:
            obj.renews = False  # a contract with a given end is not renewed
        super().save_model(request, obj, form, change)

    @admin.action(description="End now")
    def end(self, request: HttpRequest, chosen: QuerySet[Contract]) -> None:
        for contract in chosen:
            contract.end()
        self.message_user(
            request,
            "The contracts have ended, and their banners are no longer shown.",
            messages.SUCCESS,
        )

    @admin.display(ordering="banner__advertiser__name")
    def advertiser(self, contract: Contract) -> str:
        return contract.banner.advertiser.name

    @admin.display
    def headline(self, contract: Contract) -> str:
        return contract.banner.headline

    @admin.display(ordering="banner__delivery__delivered")
    def delivered(self, contract: Contract) -> int:
        return contract.banner.delivery.delivered

    @admin.display(description="pace")
    def pace(self, contract: Contract) -> str:
        return _percent(reports.progress(contract, timezone.now()).pace, 0)

    @admin.display(ordering="banner__delivery__clicks")
    def clicks(self, contract: Contract) -> int:
        return contract.banner.delivery.clicks

    @admin.display(description="click rate")
    def click_rate(self, contract: Contract) -> str:
        return _percent(reports.progress(contract, timezone.now()).click_rate, 2)


class _Counted(admin.ModelAdmin):
    """The admin pages of counts, which people can only read, because the server processes write
    them.
    """

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Delivery)
class DeliveryAdmin(_Counted):
    list_display = ("banner_id", "delivered", "clicks")


@admin.register(Server)
class ServerAdmin(_Counted):
    """The admin pages of the server processes that report deliveries."""

    list_display = ("id", "started", "reported", "sequence")


def _placement(page: Page) -> Placement:
    return page.placement if hasattr(page, "placement") else Placement(page=page)


def _percent(ratio: float | None, digits: int) -> str:
    return "–" if ratio is None else f"{ratio:.{digits}%}"
