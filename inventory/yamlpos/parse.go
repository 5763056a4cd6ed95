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

// Parse reads all documents of a file. An empty document is a null scalar, an
// empty file has no documents. file is only used in positions.
//
// The error is [Errors]: one for a syntax error, or all duplicate keys, unknown
// tags and keys that are lists or maps. A file beyond the bounds is refused, and so is
// one that is encrypted, see [CheckVault].
func Parse(file string, data []byte, opts ...ParseOption) ([]*Node, error) {
	if len(data) > maxSize {
		return nil, Errors{{File: file, Msg: fmt.Sprintf("larger than %d MiB", maxSize>>20)}}
	}
	if err := CheckVault(file, data); err != nil {
		return nil, Errors{err}
	}
	documents, syntax := decodeAll(data)
	c := converter{file: file, anchors: map[*yaml.Node]*anchor{}}
	for _, opt := range opts {
		opt(&c)
	}
	nodes := make([]*Node, 0, len(documents))
	for _, d := range documents {
		nodes = append(nodes, c.document(d))
	}
	if syntax != nil {
		c.errs.Add(syntaxError(file, data, syntax))
	}
	if err := c.errs.Err(); err != nil {
		return nil, err
	}
	return nodes, nil
}

// CheckVault refuses a file that ansible-vault has encrypted as a whole, whatever
// format is below.
func CheckVault(file string, data []byte) *Error {
	if !bytes.HasPrefix(data, []byte("$ANSIBLE_VAULT;")) {
		return nil
	}
	return &Error{File: file, Line: 1, Column: 1, Msg: "the file is encrypted by ansible-vault", Hint: vaultHint}
}

const vaultHint = `what ansible-vault has encrypted is not read; decrypt it outside: a second -i SCRIPT may print the passwords of a group, such as {"db":{"vars":{"ansible_become_password":"…"}}} (from ansible-vault view, say), and -e @<(ansible-vault view FILE) gives variables`

// A ParseOption changes how [Parse] reads a file.
type ParseOption func(*converter)

// PlainTag accepts a tag, Ansible's !unsafe. A scalar with it is text, whatever it looks
// like; lists and maps with it are what they are without. All texts in such a value are
// marked as [Node.Plain].
func PlainTag(tag string) ParseOption {
	return func(c *converter) { c.plainTag = tag }
}

// KeepEncrypted accepts scalars with the tag !vault as they are, and marks them as
// [Node.Encrypted]; without it the tag is an error.
func KeepEncrypted() ParseOption {
	return func(c *converter) { c.keepEncrypted = true }
}

// Secrets accepts the tag !secret, and marks the scalars with it as [Node.Secret]: texts,
// whatever they look like. Lists and maps with it are what they are without, and all
// in them is marked. Without it the tag is an error.
func Secrets() ParseOption {
	return func(c *converter) { c.secrets = true }
}

// EncryptedErrorf is Errorf for a value that ansible-vault has encrypted.
func (n *Node) EncryptedErrorf(format string, args ...any) *Error {
	return n.Errorf(vaultHint, format, args...)
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

// decodeAll gives the documents in front of a syntax error, and that error.
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
