"""The shop's tables: books on shelves, customers, orders.

The database enforces two rules: stock is never negative, and a customer has at most one order for
each idempotency key.
"""

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone

COUNTRIES = (
    ("AT", "Austria"), ("BE", "Belgium"), ("CZ", "Czechia"), ("DK", "Denmark"), ("EE", "Estonia"),
    ("FI", "Finland"), ("FR", "France"), ("DE", "Germany"), ("GR", "Greece"), ("IN", "India"),
    ("IE", "Ireland"), ("IT", "Italy"), ("NL", "Netherlands"), ("NO", "Norway"), ("PL", "Poland"),
    ("PT", "Portugal"), ("ES", "Spain"), ("SE", "Sweden"), ("CH", "Switzerland"),
    ("GB", "United Kingdom"), ("US", "United States"),
)  # fmt: skip


class Category(models.Model):
    """A shelf of the shop."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=60)
    blurb = models.CharField(max_length=200)

    class Meta:
        ordering = ("name",)
        verbose_name_plural = "categories"

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return f"/browse/{self.slug}/"


class Author(models.Model):
    name = models.CharField(max_length=80, unique=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class BookQuerySet(models.QuerySet["Book"]):
    def listed(self) -> "BookQuerySet":
        """Load only the columns that a list of books shows."""
        return self.select_related("author").only(
            "title", "author__name", "price_cents", "stock", "rating", "published"
        )


class Book(models.Model):
    """A book that the shop sells."""

    class Binding(models.TextChoices):
        PAPERBACK = "paperback", "Paperback"
        HARDBACK = "hardback", "Hardback"
        POCKET = "pocket", "Pocket edition"

    title = models.CharField(max_length=160)
    subtitle = models.CharField(max_length=160, blank=True)
    author = models.ForeignKey(Author, on_delete=models.PROTECT, related_name="books")
    category = models.ForeignKey(Category, on_delete=models.PROTECT, related_name="books")
    description = models.TextField()
    publisher = models.CharField(max_length=80)
    published = models.PositiveSmallIntegerField(help_text="year")
    pages = models.PositiveSmallIntegerField()
    binding = models.CharField(max_length=10, choices=Binding.choices)
    isbn = models.CharField(max_length=13, unique=True)
    price_cents = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    stock = models.PositiveIntegerField()
    rating = models.DecimalField(max_digits=2, decimal_places=1)
    ratings = models.PositiveIntegerField(help_text="number of readers who rated the book")
    sales_rank = models.PositiveIntegerField(unique=True, help_text="1 sells best")
    search = SearchVectorField(null=True, editable=False)

    objects = BookQuerySet.as_manager()

    class Meta:
        ordering = ("sales_rank",)
        indexes = (
            models.Index(fields=["category", "sales_rank"], name="book_category_rank"),
            models.Index(fields=["category", "price_cents"], name="book_category_price"),
            models.Index(fields=["category", "title"], name="book_category_title"),
            models.Index(fields=["author", "sales_rank"], name="book_author_rank"),
            models.Index(fields=["-published", "sales_rank"], name="book_newest"),
            models.Index(fields=["category", "-published", "sales_rank"], name="book_category_new"),
            GinIndex(fields=["search"], name="book_search"),
        )
        constraints = (
            models.CheckConstraint(condition=models.Q(stock__gte=0), name="stock_never_negative"),
        )

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return f"/books/{self.pk}/"

    @property
    def cover_url(self) -> str:
        return f"/covers/{self.pk}.svg"

    @property
    def price(self) -> str:
        """The price as text, such as `€12.90`."""
        return money(self.price_cents)


def money(cents: int) -> str:
    """Return the amount as text: `€12.90` for 1290 cents."""
    return f"€{cents // 100:,}.{cents % 100:02d}"


class CustomerManager(BaseUserManager["Customer"]):
    def create_user(self, username: str, email: str, password: str, full_name: str) -> "Customer":
        """Create and return a customer. Raises IntegrityError if the user name is taken."""
        customer = self.model(username=username, email=email, full_name=full_name)
        customer.set_password(password)
        customer.save(using=self._db)
        return customer


class Customer(AbstractBaseUser):
    """A person with an account. `is_seeded` marks the seeded accounts."""

    username = models.CharField(max_length=40, unique=True)
    email = models.EmailField()
    full_name = models.CharField(max_length=80)
    is_active = models.BooleanField(default=True)
    is_seeded = models.BooleanField(default=False)
    last_login = None  # not needed, and it would add an UPDATE to every login

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS = ["email", "full_name"]

    objects = CustomerManager()


class Order(models.Model):
    """A placed order. `idempotency_key` is the key in the payment form that placed it."""

    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="orders")
    idempotency_key = models.UUIDField()
    placed_at = models.DateTimeField(default=timezone.now)
    total_cents = models.PositiveIntegerField()
    full_name = models.CharField(max_length=80)
    street = models.CharField(max_length=120)
    city = models.CharField(max_length=80)
    postal_code = models.CharField(max_length=12)
    country = models.CharField(max_length=2, choices=COUNTRIES)

    class Meta:
        ordering = ("-placed_at",)
        constraints = (
            models.UniqueConstraint(
                fields=["customer", "idempotency_key"], name="one_order_per_key"
            ),
        )

    def __str__(self) -> str:
        return self.number

    @property
    def number(self) -> str:
        """The order's number as text, such as `DB-000042`."""
        return f"DB-{self.pk:06d}"

    @property
    def total(self) -> str:
        return money(self.total_cents)


class OrderLine(models.Model):
    """The copies of a book in an order, with the price when the order was placed."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    book = models.ForeignKey(Book, on_delete=models.PROTECT, related_name="+")
    quantity = models.PositiveSmallIntegerField(validators=[MinValueValidator(1)])
    unit_price_cents = models.PositiveIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["order", "book"], name="one_line_per_book"),
            models.CheckConstraint(
                condition=models.Q(quantity__gte=1), name="line_buys_at_least_one"
            ),
        )

    def __str__(self) -> str:
        return f"{self.quantity} × {self.book_id}"

    @property
    def unit_price(self) -> str:
        return money(self.unit_price_cents)


class SeedState(models.Model):
    """The table with one row: the fingerprint of the seeded catalogue, and its number of books."""

    fingerprint = models.CharField(max_length=64)
    books = models.PositiveIntegerField(default=0)
    seeded_at = models.DateTimeField(default=timezone.now)
