// Package sops reads files that sops has encrypted, by the program sops itself.
package sops

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"regexp"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Scheme decrypts whole files. It implements sealed.Scheme.
type Scheme struct {
	// Run runs a program with an input, and returns its output.
	Run func(argv []string, input []byte) ([]byte, error)
}

// Tags implements sealed.Scheme: what sops has encrypted has no tags.
func (s *Scheme) Tags() []string { return nil }

// Check implements sealed.Scheme.
func (s *Scheme) Check(*yamlpos.Node) error { return nil }

// Open implements sealed.Scheme.
func (s *Scheme) Open(n *yamlpos.Node) (string, error) {
	return "", n.Errorf("", "sops has encrypted no single values")
}

var (
	metadata = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^sops:[ \t]*\r?$`) })
	mac      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]+mac:[ \t]*["']?ENC\[`) })
)

// kindOf returns the format of a file that has the metadata of sops; "" if it has none.
func kindOf(data []byte) string {
	if metadata().Match(data) && mac().Match(data) {
		return "yaml"
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) || !bytes.Contains(data, []byte(`"sops"`)) {
		return ""
	}
	var file struct {
		SOPS struct {
			MAC string `json:"mac"`
		} `json:"sops"`
	}
	if json.Unmarshal(data, &file) == nil && strings.HasPrefix(file.SOPS.MAC, "ENC[") {
		return "json"
	}
	return ""
}

// IsFile implements sealed.Scheme.
func (s *Scheme) IsFile(data []byte) bool { return kindOf(data) != "" }

// OpenFile implements sealed.Scheme.
func (s *Scheme) OpenFile(name string, data []byte) ([]byte, error) {
	kind := kindOf(data)
	at := &yamlpos.Node{File: name, Line: 1, Column: 1}
	text, err := s.Run([]string{"sops", "--decrypt", "--input-type", kind, "--output-type", kind, "/dev/stdin"}, data)
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return nil, at.Errorf("install sops, or encrypt the file otherwise: ccm-push secret --help", "the file is encrypted by sops, but sops is not installed")
	case err != nil:
		return nil, at.Errorf("for the full error run: sops -d "+name, "the file is encrypted by sops, and sops cannot decrypt it: %s", reason(err))
	}
	return text, nil
}

// reason returns the last line of a program's standard error.
func reason(err error) string {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		lines := strings.Split(strings.TrimSpace(string(e.Stderr)), "\n")
		if last := lines[len(lines)-1]; last != "" {
			return last
		}
	}
	return fmt.Sprint(err)
}
