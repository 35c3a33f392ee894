package collective

import "fmt"

// The checks of arguments are the same for every transport, so that what one refuses all refuse, in the same words.

// CheckMember refuses what is no rank of a group of so many members; name is what the argument is called.
func CheckMember(name string, rank, members int) error {
	if rank < 0 || rank >= members {
		return fmt.Errorf("%s is %d: it must be a rank of the group, 0 to %d", name, rank, members-1)
	}
	return nil
}

// CheckParts refuses a buffer that is not one part for each member. Lengths are in bytes.
func CheckParts(whole string, wholeLength int, part string, partLength, members int) error {
	if want := partLength * members; wholeLength != want {
		return fmt.Errorf("%s has %d bytes and %s %d: with %d members %s must have %d", whole, wholeLength, part, partLength, members, whole, want)
	}
	return nil
}

// CheckExchange refuses the buffers of an all-to-all that do not have one part for each member both.
func CheckExchange(output, input []byte, members int) error {
	if len(input) != len(output) || len(input)%members != 0 {
		return fmt.Errorf("input has %d bytes and output %d: both must have the same number, a multiple of the %d members",
			len(input), len(output), members)
	}
	return nil
}

// Elements returns how a reduction is done and how many elements a buffer has. It refuses what ReductionOf refuses, and a buffer that
// has a part of an element; name is what the buffer is called.
func Elements(name string, buffer []byte, dtype DType, op Op) (Reduction, int, error) {
	r, err := reductionOf(dtype, op)
	if err != nil {
		return r, 0, err
	}
	if len(buffer)%dtype.Size() != 0 {
		return r, 0, fmt.Errorf("%s has %d bytes: %s needs a multiple of %d", name, len(buffer), dtype, dtype.Size())
	}
	return r, len(buffer) / dtype.Size(), nil
}
