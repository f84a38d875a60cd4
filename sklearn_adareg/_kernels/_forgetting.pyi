# Written by .ci/stubs.
from ._setting import Setting
class Forgetting:
    def __init__(self, setting: Setting) -> None: ...
