// Package report is what the probe prints.
package report

// Sight is what a container sees.
type Sight struct {
	Environment map[string]string `json:"environment"`
	// Devices are the character devices below /dev.
	Devices []Device `json:"devices"`
	// Mounts are the paths where something is mounted.
	Mounts []string `json:"mounts"`
}

// Device is a device node.
type Device struct {
	Path string `json:"path"`
	// Opens says that the device can be opened for reading and writing.
	Opens bool `json:"opens"`
}

// Request is a request to the API server.
type Request struct {
	// Name tells the request from others.
	Name        string `json:"name"`
	Method      string `json:"method"`
	Path        string `json:"path"`
	ContentType string `json:"contentType,omitempty"`
	Body        string `json:"body,omitempty"`
}

// Outcome is the answer to a request.
type Outcome struct {
	Name string `json:"name"`
	// Code is the HTTP status.
	Code int    `json:"code"`
	Body string `json:"body"`
}
