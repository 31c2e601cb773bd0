"""Users of a model of the host's own."""

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import PermissionsMixin
from django.db import models


class Robot(AbstractBaseUser, PermissionsMixin):
    """Has no is_active of its own: that of AbstractBaseUser is true for all."""

    username = models.CharField(max_length=150, unique=True)
    USERNAME_FIELD = "username"
