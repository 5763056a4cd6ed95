package keyring

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// A Keyring is a list of keys that may act, each with its line.
type Keyring map[string]Entry

// An Entry is the line of a key in a list. In a list of workers it limits which hosts the worker gets.
type Entry struct {
	Name  string
	At    string         // file and line; empty if the list is not a file
	Sites []string       // sites whose hosts a worker may get, "" for hosts without a site; none means all sites
	From  []netip.Prefix // addresses that a worker may name; none means all
}

// Allows reports whether a worker may get hosts of a site.
func (e Entry) Allows(site string) bool { return len(e.Sites) == 0 || slices.Contains(e.Sites, site) }

// Sources returns the addresses to which the certificates of a worker are bound, of the addresses that the worker names. It is false if the
// line allows none of these. An empty list allows all addresses, so it never results from a longer list.
func (e Entry) Sources(named []netip.Prefix) (list []netip.Prefix, ok bool) {
	switch {
	case len(e.From) == 0:
		return named, true
	case len(named) == 0:
		return e.From, true
	}
	for _, p := range named {
		for _, allowed := range e.From {
			if !p.Overlaps(allowed) {
				continue
			}
			both := p.Masked()
			if allowed.Bits() > p.Bits() {
				both = allowed
			}
			if !slices.Contains(list, both) {
				list = append(list, both)
			}
		}
	}
	return list, len(list) > 0
}

// limit reads an option of a line: site="paris,lyon" or from="192.0.2.0/24,2001:db8::7".
func (e *Entry) limit(option string) error {
	name, quoted, _ := strings.Cut(option, "=")
	name = strings.ToLower(name)
	if name != "site" && name != "from" {
		return fmt.Errorf(`the option %q is unknown: write site="SITE" or from="ADDRESS" before the key, or nothing`, name)
	}
	value, opened := strings.CutPrefix(quoted, `"`)
	value, closed := strings.CutSuffix(value, `"`)
	if !opened || !closed || strings.ContainsAny(value, `"\`) {
		return fmt.Errorf(`the option %s: write its value in double quotes, such as %s="VALUE"`, name, name)
	}
	parts := strings.Split(value, ",")
	for _, part := range parts {
		part = strings.TrimSpace(part)
		if name == "from" {
			p, err := ParseAddress(part)
			if err != nil {
				return fmt.Errorf("the option from: %w", err)
			}
			e.From = append(e.From, p)
			continue
		}
		if part == "" && len(parts) > 1 {
			return fmt.Errorf(`the option site=%s has an empty name: for hosts without a site write site="",site="OTHER"`, quoted)
		}
		e.Sites = append(e.Sites, part)
	}
	if len(e.From) > MaxAddresses {
		return fmt.Errorf("the option from has more than %d addresses", MaxAddresses)
	}
	return nil
}

// ParseAddress reads an address or a network.
func ParseAddress(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text)
	p, err := netip.ParsePrefix(text)
	if err != nil {
		one, addressErr := netip.ParseAddr(text)
		if addressErr != nil || one.Zone() != "" {
			return p, fmt.Errorf("%q: write an address such as 192.0.2.5, or a network such as 192.0.2.0/24", text)
		}
		p = netip.PrefixFrom(one, one.BitLen())
	}
	return p.Masked(), nil
}

// SiteOption returns the options before a key that limit it to hosts of sites, such as site="paris".
func SiteOption(sites ...string) (string, error) {
	var named, options []string
	for _, site := range sites {
		switch {
		case strings.ContainsAny(site, "\",\\\n\r") || site != strings.TrimSpace(site):
			return "", fmt.Errorf("the site %q cannot be in a list of workers: its name contains quotes, commas or backslashes, or begins or ends with a space", site)
		case site == "":
			options = []string{`site=""`}
		default:
			named = append(named, site)
		}
	}
	if len(named) > 0 {
		options = append(options, `site="`+strings.Join(named, ",")+`"`)
	}
	return strings.Join(options, ","), nil
}

// Text returns the line of a key.
func (e Entry) Text(key ssh.PublicKey) (string, error) {
	options, err := SiteOption(e.Sites...)
	if err != nil {
		return "", err
	}
	var from []string
	for _, p := range e.From {
		if p.IsSingleIP() {
			from = append(from, p.Addr().String())
		} else {
			from = append(from, p.String())
		}
	}
	if len(from) > 0 {
		options += `,from="` + strings.Join(from, ",") + `"`
	}
	return fmt.Sprintf("%s %s %s", options, bytes.TrimSpace(ssh.MarshalAuthorizedKey(key)), e.Name), nil
}

// parseEntry reads a line of a list. Without limits, options before the key are refused: nothing would apply them.
func parseEntry(line []byte, limits bool) (key ssh.PublicKey, e Entry, err error) {
	key, comment, options, _, err := ssh.ParseAuthorizedKey(line)
	switch {
	case err != nil:
		return nil, e, errors.New("this is not a public key: write lines in the format of authorized_keys")
	case len(options) > 0 && !limits:
		return nil, e, errors.New("options before a key have no meaning here: remove them")
	case key.Type() != ssh.KeyAlgoED25519:
		return nil, e, fmt.Errorf("the key is of type %s, and only ssh-ed25519 is accepted", key.Type())
	}
	if e.Name = comment; comment == "" {
		e.Name = ssh.FingerprintSHA256(key)
	}
	for _, option := range options {
		if err := e.limit(option); err != nil {
			return nil, e, err
		}
	}
	return key, e, nil
}

// MaxAddresses limits the addresses of a worker.
const MaxAddresses = 32

// ValidAddresses reports whether a worker can name these addresses.
func ValidAddresses(list []netip.Prefix) bool {
	return len(list) <= MaxAddresses && !slices.ContainsFunc(list, func(p netip.Prefix) bool { return !p.IsValid() })
}

// Where names the line for messages.
func (e Entry) Where() string {
	if e.At == "" {
		return "its line in the list of workers"
	}
	return e.At
}
