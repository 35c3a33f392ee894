package licences

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction. The above copyright notice and this
permission notice shall be included in all copies or substantial portions of the Software.`
	isc = `// Permission to use, copy, modify, and/or distribute this software for any
// purpose with or without fee is hereby granted, provided that the above
// copyright notice and this permission notice appear in all copies.`
	bsd2 = `Redistribution and use in source and binary forms are permitted provided that the following conditions are met:
1. Redistributions of source code must retain the above copyright notice.
2. Redistributions in binary form must reproduce the above copyright notice.`
	bsd3 = bsd2 + `
   * Neither the name of the copyright holder nor the names of its contributors may be used to endorse or promote products
     derived from this software without specific prior written permission.`
	bsd4   = bsd2 + "\n3. All advertising materials mentioning features or use of this software must display the acknowledgement."
	apache = "Apache License\n Version 2.0, January 2004\n http://www.apache.org/licenses/\n 3. Grant of Patent License. Subject to"
	mpl    = `Mozilla Public License Version 2.0
1.12. "Secondary License" means either the GNU General Public License, Version 2.0, the GNU Lesser General Public License, Version 2.1,
2.1. Each Contributor hereby grants You a world-wide, royalty-free, non-exclusive license`
)

func TestClassify(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"MIT", "The MIT License (MIT)\n" + mit, []string{"MIT"}},
		{"ISC in comments", isc, []string{"ISC"}},
		{"BSD, two clauses", bsd2, []string{"BSD-2-Clause"}},
		{"BSD, three clauses", bsd3, []string{"BSD-3-Clause"}},
		{"both of them", bsd2 + bsd3, []string{"BSD-2-Clause", "BSD-3-Clause"}},
		{"Apache", apache, []string{"Apache-2.0"}},
		{"Apache, the header alone", "Licensed under the Apache License, Version 2.0 (the \"License\");", []string{"Apache-2.0"}},
		{"MPL, which names the GPL", mpl, []string{"MPL-2.0"}},
		{"several", apache + bsd3 + strings.ToUpper(mit), []string{"Apache-2.0", "BSD-3-Clause", "MIT"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Classify(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestClassifyRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"GPL 2", "GNU GENERAL PUBLIC LICENSE\n   Version 2, June 1991", "GPL"},
		{"GPL 3", "GNU GENERAL PUBLIC LICENSE\n   Version 3, 29 June 2007", "GPL"},
		{"LGPL", "GNU LESSER GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007", "LGPL"},
		{"AGPL beside MIT", mit + "GNU AFFERO GENERAL PUBLIC LICENSE Version 3, 19 November 2007", "AGPL"},
		{"GPL by its header", "you can redistribute it and/or modify it under the terms of the GNU General Public License", "GPL"},
		{"BSD with advertising", bsd4, "BSD-4-Clause"},
		{"documentation that is shared alike", "Creative Commons Attribution-ShareAlike 4.0", "CC-BY-SA"},
		{"Commons Clause on top", "\"Commons Clause\" License Condition v1.0" + apache, "Commons Clause"},
		{"MIT without its condition", strings.Split(mit, ". The above")[0], "unknown, it begins \"permission is hereby granted"},
		{"MPL of another version", "Mozilla Public License Version 1.1", "unknown"},
		{"nothing", "", "unknown"},
		{"all rights reserved", "Copyright 2026. All rights reserved.", "unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Classify(test.text)
			if !errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v; want %s", got, err, test.want)
			}
		})
	}
}

func FuzzClassify(f *testing.F) {
	for _, text := range []string{mit, isc, bsd3, apache, mpl, "GNU GENERAL PUBLIC LICENSE Version 2, June 1991"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := Classify(text)
		if (len(ids) == 0) == (err == nil) {
			t.Fatalf("%v and %v", ids, err)
		}
		again, _ := Classify(strings.ToUpper(text))
		if len(text) < 1000 && isASCII(text) && cmp.Diff(ids, again) != "" {
			t.Errorf("%v, in upper case %v", ids, again)
		}
	})
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > 127 }) < 0
}
