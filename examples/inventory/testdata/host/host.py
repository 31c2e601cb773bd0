"""A real Django host, which does what it is told on standard input.

    host.py DATABASE migrate|as-it-is

DATABASE is the JSON of one entry of Django's DATABASES. Each line on standard input is the JSON of a
list, an order and what it is about; each is answered with a line of JSON.

    ["users", SEED, COUNT]           makes users and groups at random
    ["user", NAME, PERMISSIONS]      makes a user
    ["give", NAME, PERMISSION]       gives a user a permission
    ["take", NAME, PERMISSION]       takes it away
    ["activate", NAME, YES]          activates a user, or not
    ["ask", PERMISSIONS]             answers which of them each user has, as user.has_perm says
"""

import json
import pathlib
import random
import sys
import tempfile

import django
from django.conf import settings

database, layout = sys.argv[1:]

# The app gets its migrations anew, outside the source tree.
migrations = tempfile.TemporaryDirectory()
sys.path.insert(0, migrations.name)
(pathlib.Path(migrations.name) / "dcim_migrations").mkdir()
(pathlib.Path(migrations.name) / "dcim_migrations" / "__init__.py").touch()

settings.configure(
    DATABASES={"default": json.loads(database)},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "dcim"],
    MIGRATION_MODULES={"dcim": "dcim_migrations"},
    AUTHENTICATION_BACKENDS=["django.contrib.auth.backends.ModelBackend"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command

if layout == "migrate":
    call_command("makemigrations", "dcim", verbosity=0)
    call_command("migrate", verbosity=0)


def permission(name):
    app, codename = name.split(".")
    return Permission.objects.get(content_type__app_label=app, codename=codename)


def users(seed, count):
    draw = random.Random(seed)
    permissions = list(Permission.objects.filter(content_type__app_label="dcim").order_by("pk"))
    groups = []
    for i in range(6):
        group = Group.objects.create(name=f"group {i}")
        group.permissions.set(draw.sample(permissions, draw.randint(0, 5)))
        groups.append(group)
    for i in range(count):
        user = User.objects.create(username=f"user{i}", is_active=draw.random() < 0.85, is_superuser=draw.random() < 0.1)
        user.user_permissions.set(draw.sample(permissions, draw.randint(0, 4)))
        user.groups.set(draw.sample(groups, draw.choice([0, 0, 1, 2])))


def user(name, permissions):
    User.objects.create(username=name).user_permissions.set(map(permission, permissions))


def activate(name, yes):
    User.objects.filter(username=name).update(is_active=yes)


orders = {
    "users": users,
    "user": user,
    "give": lambda name, held: User.objects.get(username=name).user_permissions.add(permission(held)),
    "take": lambda name, held: User.objects.get(username=name).user_permissions.remove(permission(held)),
    "activate": activate,
    "ask": lambda names: [
        {"name": u.get_username(), "active": u.is_active, "has": [name for name in names if u.has_perm(name)]}
        for u in User.objects.order_by("pk")
    ],
}

for line in sys.stdin:
    order, *about = json.loads(line)
    print(json.dumps(orders[order](*about)), flush=True)
