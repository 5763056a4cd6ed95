package trust

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// Fingerprints are fingerprints of host keys, collected on the hosts themselves.
type Fingerprints struct {
	file  string
	hosts fingerprints
}

// fingerprints are SHA256:…, by the names of their hosts.
type fingerprints map[string][]string

// ReadFingerprints reads a file of fingerprints or public keys, each with its host.
func ReadFingerprints(ctx context.Context, path string) (*Fingerprints, error) {
	text, err := yamlpos.ReadFile(ctx, path)
	if err != nil {
		return nil, err
	}
	hosts, err := parseFingerprints(path, string(text))
	return &Fingerprints{path, hosts}, err
}

// parseFingerprints reads lines of these forms, and reports all others:
//
//	web1 SHA256:…                            a name and its fingerprint
//	web1 256 SHA256:… root@web1 (ED25519)    the same, as consoles and ssh-keygen -lf print it
//	256 SHA256:… web1,192.0.2.1 (ED25519)    ssh-keygen -lf known_hosts
//	web1,192.0.2.1 ssh-ed25519 AAAA…         known_hosts, ssh-keyscan
//
// It skips empty lines and lines that begin with #.
func parseFingerprints(path, text string) (fingerprints, error) {
	known := fingerprints{}
	var errs yamlpos.Errors
	number := 0
	for line := range strings.Lines(text) {
		number++
		names, fingerprint, err := parseFingerprint(strings.Fields(line))
		if err != nil {
			hint := ""
			if e, ok := errors.AsType[*lineError](err); ok {
				hint = e.hint
			}
			errs.Add(&yamlpos.Error{File: path, Line: number, Column: 1, Msg: err.Error(), Hint: hint})
			continue
		}
		for _, name := range names {
			if !slices.Contains(known[name], fingerprint) {
				known[name] = append(known[name], fingerprint)
			}
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	if len(known) == 0 {
		return nil, &yamlpos.Error{File: path, Line: 1, Column: 1, Msg: "no fingerprint in this file", Hint: formHint}
	}
	return known, nil
}

// A lineError describes the fault of one line, and the text to write instead.
type lineError struct{ msg, hint string }

func (e *lineError) Error() string { return e.msg }

const formHint = "write lines such as: web1 SHA256:… or: web1 ssh-ed25519 AAAA…"

// parseFingerprint reads the words of one line.
func parseFingerprint(words []string) (names []string, fingerprint string, err error) {
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil, "", nil
	}
	at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "SHA256:") })
	switch {
	case strings.HasPrefix(words[0], "@"):
		return nil, "", &lineError{words[0] + " is not a key of a host", "authorities and revoked keys belong into known_hosts itself"}
	case at >= 0:
		return namedFingerprint(words, at)
	case len(words) >= 3:
		return knownLine(words)
	case slices.ContainsFunc(words, isMD5):
		return nil, "", &lineError{"an MD5 fingerprint is not secure", "write the SHA-256 fingerprint; to print it: ssh-keygen -E sha256 -lf FILE"}
	}
	return nil, "", &lineError{"no fingerprint in this line", formHint}
}

// namedFingerprint reads a line whose word at is the fingerprint.
func namedFingerprint(words []string, at int) ([]string, string, error) {
	digest, err := base64.RawStdEncoding.Strict().DecodeString(strings.TrimRight(strings.TrimPrefix(words[at], "SHA256:"), "="))
	if err != nil || len(digest) != 32 {
		return nil, "", &lineError{strconv.Quote(words[at]) + " is not a SHA-256 hash in base64", "it has 43 characters after SHA256:"}
	}
	fingerprint := "SHA256:" + base64.RawStdEncoding.EncodeToString(digest)
	before := words[:at]
	if n := len(before); n > 0 && isNumber(before[n-1]) {
		before = before[:n-1]
	}
	const noName = "the line has no host name"
	const nameFirst = "begin the line with the host name, such as: web1 SHA256:…"
	switch after := words[at+1:]; {
	case len(before) == 1:
		names, err := hostNames(before[0])
		return names, fingerprint, err
	case len(before) > 1:
		return nil, "", &lineError{"there are several words before the fingerprint", nameFirst}
	case len(after) == 0, strings.HasPrefix(after[0], "("):
		return nil, "", &lineError{noName, nameFirst}
	case strings.Contains(after[0], "@"), len(after) > 1 && !strings.HasPrefix(after[1], "("):
		return nil, "", &lineError{noName + ": " + strconv.Quote(remark(after)) + " is the comment of the key", nameFirst}
	default:
		names, err := hostNames(after[0])
		return names, fingerprint, err
	}
}

// remark is the words before the type of a key.
func remark(words []string) string {
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "(") }); i >= 0 {
		words = words[:i]
	}
	return strings.Join(words, " ")
}

// knownLine reads a line of known_hosts.
func knownLine(words []string) ([]string, string, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(words[1] + " " + words[2]))
	if err != nil {
		return nil, "", &lineError{"there is neither a fingerprint nor a public key in this line", formHint}
	}
	if cert, ok := key.(*ssh.Certificate); ok {
		key = cert.Key
	}
	names, err := hostNames(words[0])
	return names, ssh.FingerprintSHA256(key), err
}

// hostName matches names of hosts, as in an inventory.
var hostName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.%-]+$`) })

// hostNames splits names at commas, and converts them to the form of known_hosts.
func hostNames(text string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if strings.HasPrefix(name, "|") {
			return nil, &lineError{"the name is hidden", "write it as it is"}
		}
		normal := strings.ToLower(knownhosts.NormalName(name))
		host, port := normal, "22"
		if strings.HasPrefix(normal, "[") {
			host, port, _ = net.SplitHostPort(normal) // which it is made of
		}
		_, err := netip.ParseAddr(host)
		if err != nil && (!hostName().MatchString(host) || isNumber(host)) || !isNumber(port) {
			return nil, &lineError{strconv.Quote(name) + " is not the name of one host", "write each host's name"}
		}
		names = append(names, normal)
	}
	return names, nil
}

func isNumber(word string) bool {
	_, err := strconv.ParseUint(word, 10, 64)
	return err == nil
}

func isMD5(word string) bool {
	word = strings.TrimPrefix(word, "MD5:")
	return len(word) == 47 && strings.Count(word, ":") == 15
}

// of returns the fingerprints of a host, by its name in the inventory and by its name in known_hosts. The second name
// is its alias or else its address.
func (f fingerprints) of(t transport.Target) []string {
	var all []string
	for _, name := range []string{t.Host, t.KnownName()} {
		all = append(all, f[strings.ToLower(name)]...)
	}
	return all
}

// vouched splits keys into those with a known fingerprint of the host, and others.
func (f fingerprints) vouched(t transport.Target, keys []ssh.PublicKey) (good, others []ssh.PublicKey) {
	known := f.of(t)
	for _, key := range keys {
		if slices.Contains(known, ssh.FingerprintSHA256(key)) {
			good = append(good, key)
		} else {
			others = append(others, key)
		}
	}
	return good, others
}
