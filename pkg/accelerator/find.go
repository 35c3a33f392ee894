package accelerator

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/internal/words"
)

// listed bounds how many names an error lists.
const listed = 6

// Names returns the names of the products, as their drivers report them, sorted.
func Names() []string {
	names := namesOf(Products())
	slices.Sort(names)
	return names
}

// Find finds a product by the name that its driver reports, or by a part of it that people use: `H100`, `H100 SXM`,
// `h200`, `RTX4090`, `A100 80GB PCIe`, `MI300X`. Where products differ only in form, the name without a form means the module for a
// baseboard (SXM, OAM). The error for a name that fits several products lists them; for an unknown name it lists the
// nearest names.
func Find(name string) (Product, error) { return FindWith(name, 0) }

// FindWith finds a product as Find does. Where a name fits several products, those count that are sold with so much memory; a memory of 0
// is any.
func FindWith(name string, memoryMiB int64) (Product, error) {
	if p, ok := Lookup(Key{Product: name}); ok {
		return p, nil
	}
	wanted := wordsOf(name)
	if len(wanted) == 0 {
		return Product{}, fmt.Errorf("device %q: name a product, as its driver reports it or in short: H100, MI300X", words.Echo(name))
	}
	found := kept(Products(), func(p *Product) bool { return describes(wanted, p) })
	if apart := wordsOf(glued.ReplaceAllString(strings.ToLower(name), "$1 $2")); len(found) == 0 {
		if found = kept(Products(), func(p *Product) bool { return describes(apart, p) }); len(found) > 0 {
			wanted = apart
		}
	}
	for _, narrow := range []func(*Product) bool{
		func(p *Product) bool { return saysAll(wanted, p) }, (*Product).onBaseboard,
		func(p *Product) bool { return memoryMiB > 0 && soldWith(p.Name, memoryMiB) },
	} {
		if some := kept(found, narrow); len(some) > 0 {
			found = some
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Product{}, fmt.Errorf("device %q is not in the catalogue: did you mean %s?", words.Echo(name),
			strings.Join(nearest(wanted), ", "))
	}
	return Product{}, fmt.Errorf("device %q stands for several products: name one of %s", words.Echo(name), strings.Join(namesOf(found), ", "))
}

// soldWith says whether a product is sold with so much memory, give or take what names differ from the catalogue by.
func soldWith(product string, memoryMiB int64) bool {
	c, err := load()
	if err != nil {
		return false
	}
	at := slices.IndexFunc(c.rows, func(r *row) bool { return r.Name == product })
	return at >= 0 && slices.ContainsFunc(c.rows[at].sizes, func(size int64) bool {
		return float64(max(size, memoryMiB)-min(size, memoryMiB)) <= sizeTolerance*float64(size)
	})
}

// nearest returns the products whose distinguishing words are nearest to any of the wanted words.
func nearest(wanted []string) []string {
	byWord := map[string][]string{}
	var known []string
	for _, p := range Products() {
		for _, word := range wordsOf(p.Name) {
			if !strings.ContainsAny(word, "0123456789") || isSize(word) || isMemory(word, &p) || isForm(word, &p) {
				continue
			}
			if byWord[word] == nil {
				known = append(known, word)
			}
			byWord[word] = append(byWord[word], p.Name)
		}
	}
	slices.Sort(known)
	var names []string
	for _, word := range wanted {
		if isSize(word) || !strings.ContainsAny(word, "0123456789") {
			continue
		}
		for _, near := range words.Nearest(word, known, listed) {
			names = append(names, byWord[near]...)
		}
	}
	if len(names) == 0 {
		names = words.Nearest(strings.Join(wanted, " "), Names(), listed)
	}
	return names[:min(len(names), listed)]
}

// glued is a series and a number that people write in one word: RTX4090.
var glued = regexp.MustCompile(`([a-z]{2,})(\d)`)

func namesOf(products []Product) []string {
	names := make([]string, len(products))
	for i := range products {
		names[i] = products[i].Name
	}
	return names
}

func kept(products []Product, keep func(*Product) bool) []Product {
	var some []Product
	for i := range products {
		if keep(&products[i]) {
			some = append(some, products[i])
		}
	}
	return some
}
