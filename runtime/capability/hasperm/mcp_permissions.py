"""The permissions of a user, as its has_perm decides, for package hasperm of mcpgen.

1. Copy this file into an app of the host, and add it to urls.py:

       path("mcp/permissions", mcp_permissions)

2. Set MCP_TOKEN, a secret of at least 32 characters, in the settings of the host.
3. Set MCP_PERMISSIONS, the permissions that your tools name, as in ["dcim.view_device"].
"""

import secrets

from django.conf import settings
from django.contrib.auth import get_user_model
from django.http import HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache


@never_cache
def mcp_permissions(request):
    sent = request.headers.get("Authorization", "").encode()
    if len(settings.MCP_TOKEN) < 32 or not secrets.compare_digest(
        sent, ("Bearer " + settings.MCP_TOKEN).encode()
    ):
        return HttpResponse(status=401)
    if "user" not in request.GET:
        return JsonResponse({"permissions": settings.MCP_PERMISSIONS})
    User = get_user_model()
    try:
        user = User._default_manager.get_by_natural_key(request.GET["user"])
    except User.DoesNotExist:
        return HttpResponse(status=404)
    # Some databases and managers find a name in another case or with other accents.
    if not user.is_active or user.get_username() != request.GET["user"]:
        return HttpResponse(status=404)
    return JsonResponse({
        "id": str(user.pk),
        "name": user.get_username(),
        "permissions": [p for p in settings.MCP_PERMISSIONS if user.has_perm(p)],
    })
