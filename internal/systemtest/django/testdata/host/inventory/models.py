"""What the host is about. Its tables stay empty: only the permissions that migrate makes count."""

from django.db import models


class Device(models.Model):
    class Meta:
        permissions = [("napalm_read_device", "Can read live facts"), ("export", "Can export all")]


class DNSRecord(models.Model):
    class Meta:
        default_permissions = ("view", "change", "approve")


class Prefix(models.Model):
    pass


class DeviceAlias(Device):
    class Meta:
        proxy = True
