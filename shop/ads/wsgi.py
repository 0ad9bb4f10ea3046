"""The WSGI application that the ad server's Gunicorn serves."""

import os

from django.core.wsgi import get_wsgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.ads.settings"

application = get_wsgi_application()
