"""Users of a model of the host's own."""

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import PermissionsMixin
from django.db import models


class Member(AbstractBaseUser, PermissionsMixin):
    """Named by its address, with a key and a switch of its own."""

    number = models.BigAutoField(primary_key=True)
    address = models.CharField(max_length=150, unique=True, db_column="mail")
    is_active = models.BooleanField(default=True)
    USERNAME_FIELD = "address"
