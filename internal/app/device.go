package app

// DeviceKinds are the kinds of device that this program drives.
func DeviceKinds() []string { return []string{"sim"} }
