package injection

import _ "tags.cncf.io/container-device-interface/specs-go"
