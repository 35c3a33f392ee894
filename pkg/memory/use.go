package memory

// Use is what a device needs, in bytes by component. Cache is what the asked sequences need.
type Use struct {
	// Weights are resident, with the padding of kernels.
	Weights int64 `json:"weightsBytes"`
	Cache   int64 `json:"kvCacheBytes"`
	// Activations live during a step; in training they are those kept for the backward pass.
	Activations int64 `json:"activationsBytes"`
	Gradients   int64 `json:"gradientsBytes,omitempty"`
	Optimizer   int64 `json:"optimizerBytes,omitempty"`
	// Engine is what the process takes outside the framework's allocator, Communication the buffers between ranks.
	Engine        int64 `json:"engineBytes"`
	Communication int64 `json:"communicationBytes"`
}

// Total is the sum of all components.
func (u Use) Total() int64 {
	return u.Weights + u.Cache + u.Activations + u.Gradients + u.Optimizer + u.Engine + u.Communication
}

// beside is everything but the cache.
func (u Use) beside() int64 { return u.Total() - u.Cache }
