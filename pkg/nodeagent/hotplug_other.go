//go:build !linux

package nodeagent

import "errors"

func openUevents(func(uevent)) (eventSource, error) { return nil, errors.ErrUnsupported }

func openDevWatch(string) (eventSource, error) { return nil, errors.ErrUnsupported }
