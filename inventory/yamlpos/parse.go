package yamlpos

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"gopkg.in/yaml.v3"
)

// The bounds of one file. They stop YAML bombs (aliases of aliases) and are far
// above what an inventory of 100,000 hosts needs.
const (
	maxSize  = 16 << 20  // bytes
	maxDepth = 100       // lists and maps around a value, aliases followed
	maxNodes = 1_000_000 // with every alias counted as often as it is used
)

// Parse reads all documents of a file. An empty document is a null scalar, an empty file has no documents. file is only
// used in positions.
//
// The error is [Errors]: one for a syntax error, or all duplicate keys, unknown tags and keys that are lists or maps. A
// file that exceeds the limits is refused, and so is an encrypted file without an opener; see [KeepSealed].
func Parse(file string, data []byte, opts ...ParseOption) ([]*Node, error) {
	if len(data) > maxSize {
		return nil, Errors{{File: file, Msg: fmt.Sprintf("larger than %d MiB", maxSize>>20)}}
	}
	c := converter{file: file, anchors: map[*yaml.Node]*anchor{}}
	for _, opt := range opts {
		opt(&c)
	}
	data, err := c.text(data)
	if err != nil {
		c.errs.Add(err)
		return nil, c.errs.Err()
	}
	documents, syntax := decodeAll(data)
	nodes := make([]*Node, 0, len(documents))
	for _, d := range documents {
		nodes = append(nodes, c.document(d))
	}
	switch {
	case syntax != nil && c.allSecret: // the error of yaml.v3 may quote it
		c.errs.Add((&Node{File: file, Line: 1, Column: 1}).Errorf("decrypt the file, and validate the decrypted text", "the decrypted content is not YAML (it is not shown)"))
	case syntax != nil:
		c.errs.Add(syntaxError(file, data, syntax))
	}
	if err := c.errs.Err(); err != nil {
		return nil, err
	}
	return nodes, nil
}

// A ParseOption changes how [Parse] reads a file.
type ParseOption func(*converter)

// PlainTag accepts a tag, Ansible's !unsafe. A scalar with it is text, whatever it looks like; lists and maps are read
// as without it. All texts in such a value are marked as [Node.Plain].
func PlainTag(tag string) ParseOption {
	return func(c *converter) { c.plainTag = tag }
}

// Secrets accepts the tag !secret, and marks the scalars with it as [Node.Secret]: texts, whatever they look like.
// Lists and maps are read as without it, and everything in them is marked. Without this option the tag is an error.
func Secrets() ParseOption {
	return func(c *converter) { c.secrets = true }
}

// MaxCopies bounds how many values aliases and merge keys may copy, and adds them to
// copied: the work of reading a file of another author, beyond its length.
func MaxCopies(most int, copied *int) ParseOption {
	return func(c *converter) { c.copied, c.mostCopied = copied, *copied+most }
}

// Items counts the lines of a text and the separators of lists and maps in it; YAML makes
// at most three values of each. The caller can so bound the work of reading a file of
// another author before it is read.
func Items(data []byte) (n int) {
	for i, c := range data {
		switch c {
		case '\n', '\r', ',', '[', '{':
			n++
		case '-', '?':
			if i+1 < len(data) && (data[i+1] == ' ' || data[i+1] == '\t') {
				n++
			}
		}
	}
	for _, end := range []string{"\u0085", "\u2028", "\u2029"} { // which end lines as well
		n += bytes.Count(data, []byte(end))
	}
	return n + 1
}

// decodeAll returns the documents before a syntax error, and that error.
func decodeAll(data []byte) (documents []*yaml.Node, err error) {
	// Malformed input has made yaml.v3 panic before (CVE-2022-28948).
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	// YAML reads both line ends alike, but after the long one yaml.v3 takes every
	// comment for one that a blank line follows.
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		document := new(yaml.Node)
		err := d.Decode(document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return documents, err
		}
		documents = append(documents, document)
	}
}
