package v1alpha1

// Permille is the part of a device's memory that the engine is told to take, in thousandths; 0 stands for the engine's default.
func (o *ServingOptions) Permille() int64 {
	if o == nil {
		return 0
	}
	return 10 * int64(o.MemoryUtilizationPercent)
}

// Slots is the most adapters of one step.
func (a *Adapters) Slots() int32 {
	if a.Active == 0 {
		return a.Count
	}
	return a.Active
}

// Tokens is how many tokens the model makes of the images and the sound of a prompt, Largest of the largest of them.
func (m *Media) Tokens() (sum, largest int64) {
	if m == nil {
		return 0, 0
	}
	image, sound := int64(m.ImageTokens), int64(m.AudioSeconds)*int64(m.AudioTokensPerSecond)
	return int64(m.Images)*image + sound, max(image, sound)
}
