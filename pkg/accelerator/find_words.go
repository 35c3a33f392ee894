package accelerator

import (
	"slices"
	"strconv"
	"strings"
)

// decoration is the words of a device's name that tell no product from another: vendors, boards' makers, what a device
// is, and the systems that modules are sold in.
var decoration = map[string]bool{
	"nvidia": true, "amd": true, "instinct": true, "intel": true, "r": true, "tm": true, "tesla": true, "geforce": true,
	"gpu": true, "tensor": true, "core": true, "accelerator": true, "graphics": true, "generation": true,
	"virtualized": true, "maxsun": true, "ms": true, "turbo": true, "dgx": true, "hgx": true, "ai": true,
}

// wordsOf returns the words of a name that identify a product.
func wordsOf(name string) []string {
	list := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.'
	})
	return slices.DeleteFunc(list, func(word string) bool { return decoration[word] })
}

// describes says whether every wanted word belongs to the product: to its name, its memory or its form. At least one must
// belong to its name and be more than a size or a form, which many products share.
func describes(wanted []string, p *Product) bool {
	own := wordsOf(p.Name)
	named := false
	for _, word := range wanted {
		shared := isSize(word) || isMemory(word, p) || isForm(word, p)
		switch {
		case slices.Contains(own, word):
			named = named || !shared
		case isSize(word) && hasSize(word, p, slices.Contains(wanted, "dual")):
		case isMemory(word, p), isForm(word, p):
		default:
			return false
		}
	}
	return named
}

// series is the words of a name that people leave out where a number follows: 3090, M4.
var series = map[string]bool{"rtx": true, "gtx": true, "radeon": true, "rx": true, "apple": true}

// saysAll says whether the name has no word that was not asked for, its series aside.
func saysAll(wanted []string, p *Product) bool {
	for _, word := range wordsOf(p.Name) {
		if !series[word] && !slices.Contains(wanted, word) {
			return false
		}
	}
	return true
}

// isForm says whether the word is a form of the product: a baseboard's socket of any version, a card, a bridged card, a
// rack or a board with two devices.
func isForm(word string, p *Product) bool {
	if strings.HasPrefix(word, "sxm") {
		word = "sxm"
	}
	return slices.Contains(p.Forms, word)
}

// isMemory says whether the word is a kind of memory with which the product's kind begins, letters e, x and w at the end
// of the word aside.
func isMemory(word string, p *Product) bool {
	return (strings.HasPrefix(word, "hbm") || strings.HasPrefix(word, "gddr")) &&
		strings.HasPrefix(strings.ToLower(p.MemoryType), word[:len(strings.TrimRight(word, "exw"))])
}

// isSize says whether the word is an amount of memory: 80gb, 48g.
func isSize(word string) bool { return sizeOf(word) > 0 }

func sizeOf(word string) float64 {
	for _, unit := range []string{"gib", "gb", "g"} {
		if digits, ok := strings.CutSuffix(word, unit); ok {
			size, err := strconv.ParseFloat(digits, 64)
			if err == nil && size > 0 && size < 1<<20 {
				return size
			}
		}
	}
	return 0
}

// sizeTolerance is the part of a size by which names differ from the catalogue: a device sold with 192 GB reports 185
// GiB. Two products of one name are at least a sixth apart.
const sizeTolerance = 1.0 / 8

// hasSize says whether the product is sold with so much memory; each device of a board with two has half of what the board's name
// says.
func hasSize(word string, p *Product, dual bool) bool {
	size := sizeOf(word)
	if dual {
		size /= 2
	}
	return soldWith(p.Name, int64(size*1024))
}
