"""clients: those whose compatibility is measured, in the order of docs/compatibility.md."""
from client_node import CLIENT_NODE
from helm import HELM
from kubectl import KUBECTL
from loop import LOOP
from python_client import PYTHON

ALL = [KUBECTL, HELM, LOOP, CLIENT_NODE, PYTHON]
