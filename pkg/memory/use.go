package memory

// Use is what a device needs, in bytes by component. Cache is for the sequences that are asked for.
type Use struct {
	// Weights are resident, with the padding of kernels.
	Weights int64 `json:"weightsBytes"`
	Cache   int64 `json:"kvCacheBytes"`
	// Activations are alive during a step; in training they are kept for the backward pass, and weights that are shared out are whole for a moment.
	Activations int64 `json:"activationsBytes"`
	Gradients   int64 `json:"gradientsBytes,omitempty"`
	Optimizer   int64 `json:"optimizerBytes,omitempty"`
	// Engine is what the process takes outside the framework's allocator, Communication the buffers between ranks.
	Engine        int64 `json:"engineBytes"`
	Communication int64 `json:"communicationBytes"`
}

// Total returns the sum of all components.
func (u Use) Total() int64 {
	return u.Weights + u.Cache + u.Activations + u.Gradients + u.Optimizer + u.Engine + u.Communication
}

// beside returns the sum of all components except the cache.
func (u Use) beside() int64 { return u.Total() - u.Cache }
