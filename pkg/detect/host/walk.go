package host

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// maxLinks bounds the symbolic links on one path, as Linux does (path_resolution(7)).
const maxLinks = 40

// errTooManyLinks is what Linux says of a loop of links.
var errTooManyLinks error = syscall.ELOOP

// readLinkFunc returns the target of the link at a path that holds no further links; isLink is false for anything else
// that exists.
type readLinkFunc func(path string) (target string, isLink bool, err error)

// resolve follows the symbolic links of an absolute name inside a tree: an absolute target starts at the tree's root,
// and `..` at the root stays there. Every path given to readLink is free of links but for its last step, so a live tree
// and a replayed one resolve names alike. Where the last step does not exist, the error is readLink's.
func resolve(name string, readLink readLinkFunc) (string, error) {
	if !path.IsAbs(name) {
		return "", errNotAbsolute
	}
	// Place is free of links, and empty at the root. While nothing was passed over it is how the name begins.
	place, rest, straight, links := "", name[1:], true, 0
	for rest != "" {
		var step string
		step, rest, _ = strings.Cut(rest, "/")
		switch step {
		case "", ".":
			straight = false
			continue
		case "..":
			place, straight = place[:max(0, strings.LastIndexByte(place, '/'))], false
			continue
		}
		var next string
		if straight {
			next = name[:len(place)+1+len(step)]
		} else {
			next = place + "/" + step
		}
		target, isLink, err := readLink(next)
		if err != nil {
			return "", err
		}
		if !isLink {
			place = next
			continue
		}
		links++
		if links > maxLinks {
			return "", errTooManyLinks
		}
		if path.IsAbs(target) {
			place = ""
		}
		rest, straight = target+"/"+rest, false
	}
	return cmp.Or(place, "/"), nil
}

// readBelow reads the link that the last step of a name is, whatever links lead there; readPlace needs a name without.
func readBelow(name string, readPlace readLinkFunc) (target string, isLink bool, err error) {
	parent, err := resolve(path.Dir(name), readPlace)
	if err != nil {
		return "", false, err
	}
	return readPlace(path.Join(parent, path.Base(name)))
}

// pathError tells which name inside the tree failed, whatever path outside it the cause speaks of.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: rootCause(err)}
}

// rootCause strips the path that an error of the operating system carries, and words what does not exist as a replay
// does; a step below a file is a step to nowhere.
func rootCause(err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fs.ErrNotExist
	}
	return err
}
