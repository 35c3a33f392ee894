//go:build !linux

package nodeagent

import "errors"

func openUevents() (eventSource, error) { return nil, errors.ErrUnsupported }

func openDevWatch(string) (eventSource, error) { return nil, errors.ErrUnsupported }
