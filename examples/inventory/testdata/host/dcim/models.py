"""What the host is about. Its tables stay empty: only the permissions that migrate makes count."""

from django.db import models


class Device(models.Model):
    class Meta:
        permissions = [("rename_device", "Can rename"), ("napalm_read_device", "Can read facts")]


class DNSRecord(models.Model):
    pass


class IPAddress(models.Model):
    pass
