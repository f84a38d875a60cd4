# Written by .ci/stubs.
