package launch

import "github.com/rankwright/rankwright/pkg/engine"

// vendorLaunchers are added where the devices are of the vendor.
var vendorLaunchers = map[string]*launcher{google: &tpu, amazon: &neuron, huawei: &hccl}

// ForEngine writes a placement down for the launchers of its engine and of its devices' runtime. What the engine can do
// without is left out where it is not possible, with the reason.
func (j *Job) ForEngine() (*Bundle, error) {
	e, err := engine.Find(j.Engine)
	if err != nil {
		return nil, err
	}
	if err := j.runsOn(e); err != nil {
		return nil, err
	}
	var candidates []*launcher
	for _, name := range e.Launchers {
		l, err := find(name)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, l)
	}
	if l := vendorLaunchers[vendorOf(&j.Copies[0])]; l != nil {
		candidates = append(candidates, l)
	}
	var used []*launcher
	var skipped []string
	for i, l := range candidates {
		err := j.able(l)
		switch {
		case err == nil:
			used = append(used, l)
		case i == 0:
			return nil, err
		default:
			skipped = append(skipped, err.Error())
		}
	}
	b, err := j.bundle(used...)
	if err != nil {
		return nil, err
	}
	b.Skipped = skipped
	return b, nil
}

// able says why a launcher cannot start the placement, or lacks something for its files.
func (j *Job) able(l *launcher) error {
	if err := j.can(l); err != nil {
		return err
	}
	for i := range j.Copies {
		if _, err := j.shared(&j.Copies[i], []*launcher{l}); err != nil {
			return err
		}
	}
	return nil
}
