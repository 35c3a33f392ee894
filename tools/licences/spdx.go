package licences

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// The document of SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/), as far as it is used here.
type (
	spdxDocument struct {
		Version       string             `json:"spdxVersion"`
		DataLicense   string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		Name             string          `json:"name"`
		ID               string          `json:"SPDXID"`
		Version          string          `json:"versionInfo,omitempty"`
		Purpose          string          `json:"primaryPackagePurpose,omitempty"`
		Supplier         string          `json:"supplier,omitempty"`
		DownloadLocation string          `json:"downloadLocation"`
		FilesAnalyzed    bool            `json:"filesAnalyzed"`
		Checksums        []spdxChecksum  `json:"checksums,omitempty"`
		Concluded        string          `json:"licenseConcluded"`
		Declared         string          `json:"licenseDeclared"`
		Copyright        string          `json:"copyrightText"`
		Comment          string          `json:"comment,omitempty"`
		References       []spdxReference `json:"externalRefs,omitempty"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxReference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		Element string `json:"spdxElementId"`
		Type    string `json:"relationshipType"`
		Related string `json:"relatedSpdxElement"`
	}
)

const (
	noAssertion     = "NOASSERTION"
	documentID      = "SPDXRef-DOCUMENT"
	ownLicence      = "Apache-2.0"
	namespacePrefix = "https://rankwright.dev/spdx/"
)

// SPDX describes the program, whose file has the content, as a document of SPDX 2.3 in JSON. The same program and time give the same
// bytes. The go.sum hash of a module is a comment: it is a hash of its files' hashes, not of a file that could be checked.
func (p *Program) SPDX(content []byte, created time.Time) ([]byte, error) {
	digest := sha256.Sum256(content)
	sum := hex.EncodeToString(digest[:])
	program := spdxPackage{
		Name: p.Name, ID: "SPDXRef-Program", Version: p.Version, Purpose: "APPLICATION", Supplier: "Organization: Rankwright",
		DownloadLocation: noAssertion, Checksums: []spdxChecksum{{"SHA256", sum}},
		Concluded: ownLicence, Declared: ownLicence, Copyright: noAssertion,
		Comment: fmt.Sprintf("%s for %s/%s, built with %s", p.Path, p.OS, p.Arch, p.GoVersion),
	}
	document := spdxDocument{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: documentID, Name: p.Name,
		Namespace:     namespacePrefix + p.Name + "-" + sum,
		Creation:      spdxCreation{Created: created.UTC().Format(time.RFC3339), Creators: []string{"Tool: rankwright-licences"}},
		Packages:      []spdxPackage{program},
		Relationships: []spdxRelationship{{documentID, "DESCRIBES", program.ID}},
	}
	for i := range p.Modules {
		described := p.Modules[i].spdx()
		document.Packages = append(document.Packages, described)
		document.Relationships = append(document.Relationships, spdxRelationship{program.ID, "CONTAINS", described.ID})
	}
	encoded, err := json.MarshalIndent(document, "", "  ")
	return append(encoded, '\n'), err
}

func (m *Module) spdx() spdxPackage {
	described := spdxPackage{
		Name: m.Path, ID: "SPDXRef-" + spdxID(m.Path), Version: m.Version, Purpose: "LIBRARY",
		DownloadLocation: noAssertion, Concluded: m.Expression(), Declared: m.Expression(), Copyright: noAssertion,
		References: []spdxReference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + strings.ToLower(m.Path) + "@" + m.Version}},
	}
	if m.Path == Standard {
		described.References[0].Locator = "pkg:golang/std@" + strings.TrimPrefix(m.Version, "go")
	}
	if m.Sum != "" {
		described.Comment = "go.sum " + m.Sum
	}
	return described
}

var notInID = regexp.MustCompile(`[^a-zA-Z0-9.]`)

// spdxID makes a path fit an identifier, which has letters, digits, dots and hyphens. A hyphen is doubled and any other
// character is its code after a hyphen, so that two paths stay apart.
func spdxID(modulePath string) string {
	return notInID.ReplaceAllStringFunc(modulePath, func(c string) string {
		if c == "-" {
			return "--"
		}
		return "-" + hex.EncodeToString([]byte(c))
	})
}
