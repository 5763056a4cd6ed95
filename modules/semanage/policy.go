package semanage

import (
	"bytes"
	"encoding/binary"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// maxPolicy bounds a policy as the kernel loads it, in bytes.
const maxPolicy = 64 << 20

// A Symbol is a kind of name in a policy. Its value is how many words of 32 bits are between the length of a name and
// the name itself, as libsepol writes them since version 24 (policydb/write.c).
type Symbol int

// The symbols.
const (
	Boolean Symbol = 0 // value, state, length
	Typ     Symbol = 3 // length, value, properties, bounds
)

// Declares reports whether the policy certainly has a name. It searches the file that the kernel loads.
func (s System) Declares(files modules.FileReader, kind Symbol, name string) bool {
	file, err := files.Open(s.newest(files))
	if err != nil {
		return false
	}
	defer file.Close()
	policy, err := io.ReadAll(io.LimitReader(file, maxPolicy))
	if err != nil {
		return false
	}
	const word = 4
	before := word * (int(kind) + 1)
	for from := before; from < len(policy); from++ {
		next := bytes.Index(policy[from:], []byte(name))
		if next < 0 {
			return false
		}
		from += next
		if binary.LittleEndian.Uint32(policy[from-before:]) == uint32(len(name)) && (kind == Boolean || !attribute(policy[from-2*word:])) {
			return true
		}
	}
	return false
}

// attribute reports whether the properties of a type mark it as an attribute, which is a name for several types.
func attribute(properties []byte) bool {
	const attribute = 2
	return binary.LittleEndian.Uint32(properties)&attribute != 0
}

// newest is the file of the policy in its newest format, such as policy.33.
func (s System) newest(files modules.FileReader) string {
	dir := "/etc/selinux/" + s.Policy + "/policy"
	names, _ := files.List(dir)
	best := 0
	for _, name := range names {
		if version, err := strconv.Atoi(strings.TrimPrefix(name, "policy.")); err == nil {
			best = max(best, version)
		}
	}
	return path.Join(dir, "policy."+strconv.Itoa(best))
}
