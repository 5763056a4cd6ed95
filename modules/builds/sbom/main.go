// Sbom prints the modules in the programs of a release, as a software bill of materials in the CycloneDX format. It
// reads the build information that the compiler has put into the programs themselves.
//
//	go run ./modules/builds/sbom -version 1.2.3 -builds modules/builds/bin [-alone PROGRAM...] PROGRAM...
//
// The host programs in the folder of -builds are parts of every PROGRAM except those of -alone. The time of the
// document is $SOURCE_DATE_EPOCH; without it the document has no time.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules/builds"
)

// A document is a bill of materials: https://cyclonedx.org/docs/1.6/json/
type document struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

func main() {
	version := flag.String("version", "", "the `version` of the release")
	folder := flag.String("builds", "modules/builds/bin", "the `folder` of the host programs")
	var alone []string
	flag.Func("alone", "a `program` without host programs in it; may be repeated", func(file string) error {
		alone = append(alone, file)
		return nil
	})
	flag.Parse()
	if err := run(os.Stdout, *version, *folder, flag.Args(), alone, os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, version, folder string, programs, alone []string, epoch string) error {
	if version == "" || len(programs) == 0 {
		return errors.New("it takes -version and the programs of the release")
	}
	b := bill{version: version, components: map[string]component{}, parts: map[string][]string{}}
	hostPrograms, err := b.addHostPrograms(folder)
	if err != nil {
		return err
	}
	var refs []string
	for i, file := range slices.Concat(programs, alone) {
		program, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		parts := hostPrograms
		if i >= len(programs) {
			parts = nil
		}
		ref, err := b.add(file, program, parts...)
		if err != nil {
			return err
		}
		refs = append(refs, ref)
	}
	doc := b.document(refs)
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		doc.Metadata.Timestamp = time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(doc)
}

// A bill contains the programs and modules added so far, by reference.
type bill struct {
	version    string
	components map[string]component
	parts      map[string][]string
}

func (b *bill) addHostPrograms(folder string) ([]string, error) {
	list, err := builds.Load(folder)
	if err != nil {
		return nil, err
	}
	var refs []string
	for _, build := range list {
		program, err := build.Program()
		if err != nil {
			return nil, err
		}
		ref, err := b.add(build.String(), program)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// add adds a program, whose name is for errors, and returns its reference.
func (b *bill) add(name string, program []byte, parts ...string) (string, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	c := component{Type: "application", Name: path.Base(info.Path), Version: b.version}
	c.Ref = strings.Join([]string{c.Name, settings["GOOS"], settings["GOARCH"]}, "-")
	for _, key := range []string{"GOOS", "GOARCH", "-tags"} {
		if value := settings[key]; value != "" {
			c.Properties = append(c.Properties, property{"go:" + strings.TrimPrefix(key, "-"), value})
		}
	}
	if tags := settings["-tags"]; tags != "" {
		c.Ref += "-" + strings.ReplaceAll(tags, ",", "-")
	}
	if _, ok := b.components[c.Ref]; ok {
		return "", fmt.Errorf("%s: there is another %s", name, c.Ref)
	}
	sum := sha256.Sum256(program)
	c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	b.components[c.Ref] = c

	parts = append(slices.Clone(parts), b.addModule(&debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}))
	for _, m := range info.Deps {
		parts = append(parts, b.addModule(m))
	}
	slices.Sort(parts)
	b.parts[c.Ref] = parts
	return c.Ref, nil
}

func (b *bill) addModule(m *debug.Module) string {
	if m.Replace != nil {
		m = m.Replace
	}
	purl := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	c := component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	b.components[purl] = c
	b.parts[purl] = []string{} // programs do not contain which module needs which
	return purl
}

// document sorts everything, so that equal programs result in equal bytes.
func (b *bill) document(programs []string) document {
	release := component{Type: "application", Ref: "ccm-push", Name: "ccm-push", Version: b.version}
	slices.Sort(programs)
	doc := document{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{Component: release}}
	doc.Dependencies = []dependency{{release.Ref, programs}}
	for _, ref := range slices.Sorted(maps.Keys(b.components)) {
		doc.Components = append(doc.Components, b.components[ref])
		if parts := b.parts[ref]; len(parts) > 0 {
			doc.Dependencies = append(doc.Dependencies, dependency{ref, parts})
		}
	}
	return doc
}
