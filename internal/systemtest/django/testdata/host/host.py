"""Fills an empty database as a Django host, and prints what Django says that each user may do.

    host.py DATABASE USER_MODEL SEED USERS [VIEW]

DATABASE is the JSON of one entry of Django's DATABASES. All is drawn from SEED. VIEW is a directory with
mcp_permissions.py, which the host then serves: the address is a line after what Django says.
"""

import json
import pathlib
import random
import sys
import tempfile

import django
from django.conf import settings

database, user_model, seed, count, *view = sys.argv[1:]

# The apps of the host get their migrations anew, outside the source tree.
migrations = tempfile.TemporaryDirectory()
sys.path.insert(0, migrations.name)
own = ["inventory"]
if not user_model.startswith("auth."):
    own.append(user_model.split(".")[0])
for app in own:
    (pathlib.Path(migrations.name) / f"{app}_migrations").mkdir()
    (pathlib.Path(migrations.name) / f"{app}_migrations" / "__init__.py").touch()

settings.configure(
    DATABASES={"default": json.loads(database)},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", *own],
    MIGRATION_MODULES={app: f"{app}_migrations" for app in own},
    AUTH_USER_MODEL=user_model,
    AUTHENTICATION_BACKENDS=["django.contrib.auth.backends.ModelBackend"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.db import transaction

call_command("makemigrations", *own, verbosity=0)
call_command("migrate", verbosity=0)

draw = random.Random(int(seed))
User = get_user_model()
name_field = User.USERNAME_FIELD

# Codenames are free text, and one may stand below several content types of an app.
odd = ["export", "sync.all", "größe_ändern", "View_Device", "view device", "x" * 100, "'; --", "%s", "*"]


def some(things, most):
    return draw.sample(things, min(len(things), draw.choice([0, 0, 1, 2, draw.randint(0, most)])))


def link(through, owners, field, things, target, most):
    """Fills a table of a many-to-many relation with some of the things for each owner."""
    through.objects.bulk_create(
        through(**{field: owner, target: thing}) for owner in owners for thing in some(things, most)
    )


with transaction.atomic():
    types = list(ContentType.objects.order_by("pk"))
    for codename in odd:
        for content_type in draw.sample(types, draw.randint(1, 3)):
            Permission.objects.get_or_create(codename=codename, content_type=content_type, defaults={"name": codename})
    # A content type whose model is gone keeps its permissions, and Django goes on counting them.
    stale = ContentType.objects.create(app_label="gone", model="relic")
    Permission.objects.create(codename="view_relic", content_type=stale, name="view")
    permissions = list(Permission.objects.select_related("content_type").order_by("pk"))

    Group.objects.bulk_create(Group(name=f"group {i}") for i in range(40))
    groups = list(Group.objects.order_by("pk"))
    link(Group.permissions.through, groups, "group", permissions, "permission", 20)

    names = ["user{}", "User{}", "us er {}", "größe{}", "o'brien{}", 'q"{}', "u%{}_", "{}@example.com"]
    switched = any(field.name == "is_active" for field in User._meta.get_fields())

    def new_user(i):
        fields = {name_field: draw.choice(names).format(i)}
        if switched:
            fields["is_active"] = draw.random() < 0.85
        return User(**fields, is_superuser=draw.random() < 0.1)

    if int(count):  # a model with table inheritance gets its tables only
        User.objects.bulk_create(new_user(i) for i in range(int(count)))
        users = list(User.objects.order_by("pk"))
        link(User.user_permissions.through, users, User._meta.model_name, permissions, "permission", 10)
        link(User.groups.through, users, User._meta.model_name, groups, "group", 5)


class HostsOwn:
    """Grants a permission that no table grants, and refuses one that tables may grant."""

    def authenticate(self, request, **credentials):
        return None

    def has_perm(self, user, permission, obj=None):
        if permission == refused:
            raise PermissionDenied
        return permission == "computed.in_code"


def decided_in_code():
    settings.AUTHENTICATION_BACKENDS.insert(0, "__main__.HostsOwn")
    return {
        "refused": refused,
        "users": [
            {
                "granted": user.has_perm("computed.in_code"),
                "refused": not user.has_perm(refused),
                "by_tables": refused in ModelBackend().get_all_permissions(user),
            }
            for user in User.objects.order_by("pk")
        ],
    }


refused = f"{permissions[0].content_type.app_label}.{permissions[0].codename}"
json.dump({
    "users": [{
        "id": str(user.pk),
        "name": user.get_username(),
        "active": user.is_active,
        "superuser": user.is_superuser,
        "permissions": sorted(user.get_all_permissions()),
    } for user in User.objects.order_by("pk")],
    "all": sorted({f"{p.content_type.app_label}.{p.codename}" for p in permissions}),
    "code": decided_in_code(),
}, sys.stdout)

if view:
    from wsgiref.simple_server import WSGIRequestHandler, make_server

    from django.core.wsgi import get_wsgi_application
    from django.urls import path

    sys.path.insert(0, view[0])
    from mcp_permissions import mcp_permissions

    urlpatterns = [path("mcp/permissions", mcp_permissions)]
    settings.ROOT_URLCONF = "__main__"
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    settings.MCP_TOKEN = "a token of a test, of at least 32 bytes"
    settings.MCP_PERMISSIONS = [*sorted({f"{p.content_type.app_label}.{p.codename}" for p in permissions}),
                                "computed.in_code"]
    WSGIRequestHandler.log_message = lambda *_: None
    with make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=WSGIRequestHandler) as server:
        print(json.dumps(f"http://127.0.0.1:{server.server_port}/mcp/permissions"), flush=True)
        server.serve_forever()
