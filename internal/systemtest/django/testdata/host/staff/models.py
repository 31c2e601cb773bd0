"""Users of a model of the host's own."""

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import PermissionsMixin
from django.db import models


class Login(AbstractBaseUser, PermissionsMixin):
    """Keeps its rows under another name."""

    username = models.CharField(max_length=150, unique=True)
    is_active = models.BooleanField(default=True)
    USERNAME_FIELD = "username"

    class Meta:
        db_table = "Staff Login"


class Manager(Login):
    """Keeps what a Login has in the table of Login."""

    office = models.CharField(max_length=150)
