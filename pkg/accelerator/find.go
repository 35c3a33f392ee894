package accelerator

import (
	"cmp"
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

// Find finds a product by the name that its driver reports, by a part of it that people use (`H100`, `H100 SXM`, `h200`, `RTX4090`,
// `M4Max 128GB`, `A100 80GB PCIe`, `MI300X`), or by what it is sold in (`DGX Spark`, `trn2`). Where products differ only in form, the name
// without a form means the module for a baseboard (SXM, OAM). The error for a name that fits several products lists them; for an unknown
// name it lists the nearest names.
func Find(name string) (Product, error) { return FindWith(name, 0) }

// FindWith finds a product as Find does. Where a name fits several products, those count that are sold with so much memory; a memory of 0
// is any.
func FindWith(name string, memoryMiB int64) (Product, error) {
	if p, ok := Lookup(Key{Product: name}); ok {
		return p, nil
	}
	spelled := soldAs.Replace(strings.ToLower(name))
	wanted := wordsOf(spelled)
	if len(wanted) == 0 {
		return Product{}, fmt.Errorf("device %q: name a product, as its driver reports it or in short: H100, MI300X", words.Echo(name))
	}
	found := kept(Products(), func(p *Product) bool { return describes(wanted, p) })
	if apart := wordsOf(glued.ReplaceAllString(suffixed.ReplaceAllString(spelled, "$1 $2"), "$1 $2")); len(found) == 0 {
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
		found[0].MemoryMiB = sizeAsked(wanted, &found[0])
		return found[0], nil
	case 0:
		return Product{}, fmt.Errorf("device %q is not in the catalogue: did you mean %s?", words.Echo(name),
			strings.Join(nearest(wanted), ", "))
	}
	return Product{}, fmt.Errorf("device %q stands for several products: name one of %s", words.Echo(name), strings.Join(namesOf(found), ", "))
}

// sizesOf returns the memories that a product is sold with in MiB, ascending.
func sizesOf(product string) []int64 {
	c, err := load()
	if err != nil {
		return nil
	}
	at := slices.IndexFunc(c.rows, func(r *row) bool { return r.Name == product })
	if at < 0 {
		return nil
	}
	return c.rows[at].sizes
}

// soldWith says whether a product is sold with so much memory, give or take what names differ from the catalogue by.
func soldWith(product string, memoryMiB int64) bool {
	return slices.ContainsFunc(sizesOf(product), func(size int64) bool {
		return float64(max(size, memoryMiB)-min(size, memoryMiB)) <= sizeTolerance*float64(size)
	})
}

// sizeAsked returns the memory of a product in MiB: of the sizes that it is sold in the one that a word names, else the product's own.
func sizeAsked(wanted []string, p *Product) int64 {
	sizes := sizesOf(p.Name)
	at := slices.IndexFunc(wanted, isSize)
	if at < 0 || len(sizes) < 2 {
		return p.MemoryMiB
	}
	asked := int64(sizeOf(wanted[at]) * 1024)
	return slices.MinFunc(sizes, func(a, b int64) int { return cmp.Compare(max(a, asked)-min(a, asked), max(b, asked)-min(b, asked)) })
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

// glued is a series and a number that people write in one word: RTX4090. suffixed is a number with the word after it: 4070Ti, M4Max.
var (
	glued    = regexp.MustCompile(`([a-z]{2,})(\d)`)
	suffixed = regexp.MustCompile(`(\d)(ti|super|xtx|xt|max|pro|ultra)\b`)
)

// soldAs turns the names that machines and instances are sold under into those of their accelerators.
var soldAs = strings.NewReplacer(
	"dgx spark", "gb10", "strix halo", "8060s", "ryzen ai max+ 395", "8060s",
	"trn1", "trainium", "trn2", "trainium2", "trn3", "trainium3", "inf1", "inferentia", "inf2", "inferentia2",
	"gaudi 2", "gaudi2", "gaudi 3", "gaudi3", "tpu v7x", "tpu7x", "tpu v7", "tpu7x",
)

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
