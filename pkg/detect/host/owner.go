package host

import (
	"errors"
	"fmt"
)

// Owner is whom a file belongs to and, of a device node, which device it stands for.
type Owner struct{ UID, GID, Major, Minor uint32 }

// owners are Files that can tell who owns a file: this machine's can, and a recording for the files whose owners were recorded.
type owners interface {
	// Owner returns the owner of a file, links followed. The error wraps errors.ErrUnsupported where it is not known.
	Owner(name string) (Owner, error)
}

// OwnerOf returns the owner of a file, where the files can tell.
func OwnerOf(files Files, name string) (Owner, error) {
	told, ok := files.(owners)
	if !ok {
		return Owner{}, pathError("owner of", name, errors.ErrUnsupported)
	}
	return told.Owner(name)
}

// Owner implements owners, and keeps the answer.
func (r *recorder) Owner(name string) (Owner, error) {
	owner, err := OwnerOf(r.files, name)
	if place, ok := r.trail(name); ok && err == nil {
		r.seen(place)
		r.mu.Lock()
		defer r.mu.Unlock()
		if e, kept := r.recording.entries[place]; kept {
			e.owner = &owner
		}
	}
	return owner, err
}

// SetOwner says whom a file that was added belongs to.
func (r *Recording) SetOwner(name string, owner Owner) error {
	e, ok := r.entries[name]
	if !ok {
		return fmt.Errorf("%s: was not added to the recording", name)
	}
	e.owner = &owner
	return nil
}

// ownerRecord is the PAX record that tells an owner: uid, gid and the numbers of a device. The headers' own fields have
// zeros where nobody asked.
const (
	ownerRecord = "RANKWRIGHT.owner"
	ownerForm   = "%d:%d %d:%d"
)

func (o Owner) record() string { return fmt.Sprintf(ownerForm, o.UID, o.GID, o.Major, o.Minor) }

// parseOwner reads a record; nil where there is none.
func parseOwner(text string) (*Owner, error) {
	if text == "" {
		return nil, nil
	}
	var owner Owner
	_, err := fmt.Sscanf(text, ownerForm, &owner.UID, &owner.GID, &owner.Major, &owner.Minor)
	if err != nil || owner.record() != text {
		return nil, fmt.Errorf("%s: %q is no owner: want UID:GID MAJOR:MINOR", ownerRecord, Clip(text, 64))
	}
	return &owner, nil
}
