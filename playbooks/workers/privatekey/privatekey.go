// Package privatekey finds private keys in the content of files, whatever the files are called: in PEM, OpenSSH, PKCS#1, PKCS#8,
// PKCS#12, PuTTY, OpenPGP, age, NKey, WireGuard, minisign and JWK form. It looks into base64, hexadecimal and UTF-16 text, and into
// gzip, zlib, bzip2, zstd, tar and zip.
package privatekey

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"filippo.io/age"
	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/ssh"
)

// A Key is a private key in a file.
type Key struct {
	Format string
	IDs    []string // ids of the public part and of the encoded key, as far as they are known
}

const (
	maxDepth  = 6
	maxOpened = 128 << 20 // bytes that are unpacked or decoded of one file
)

// Find returns the private keys in a file. whole reports whether all of the file was searched: it is false for xz, 7z and damaged
// archives, and if the file unpacks to more than 128 MiB.
func Find(data []byte) (keys []Key, whole bool) {
	s := &search{whole: true, budget: maxOpened}
	s.look(data, 0)
	return s.keys, s.whole
}

// ID returns the id of a public key, as in [Key].
func ID(key ssh.PublicKey) string { return "ssh " + base64.StdEncoding.EncodeToString(key.Marshal()) }

type search struct {
	keys   []Key
	whole  bool
	budget int64
}

func (s *search) add(format string, ids ...string) {
	s.keys = append(s.keys, Key{format, slices.DeleteFunc(ids, func(id string) bool { return id == "" })})
}

func (s *search) look(data []byte, depth int) {
	if depth > maxDepth {
		s.whole = false
		return
	}
	if text, is := narrow(data); is {
		s.look(text, depth+1)
	}
	s.texts(data)
	s.nkeys(data)
	s.der(data)
	s.unpack(data, depth)
	s.decode(data, depth)
}

// narrow returns UTF-16 text, with or without a byte order mark, as bytes.
func narrow(data []byte) ([]byte, bool) {
	const sample = 256 // bytes
	head := data[:min(len(data), sample)]
	if len(head) < 16 || bytes.Count(head, []byte{0}) < len(head)*2/5 {
		return nil, false
	}
	out := make([]byte, 0, len(data)/2)
	for _, b := range data {
		if b != 0 && b < 0x80 {
			out = append(out, b)
		}
	}
	return out, true
}

// A mark finds private keys of one format in text.
type mark struct {
	format string
	marks  []string // one of them is in the text
	match  *regexp.Regexp
	ids    func(data, found []byte) []string // returns the ids of a found key in its file; nil means unknown
}

var marks = sync.OnceValue(func() []mark {
	return []mark{
		{"PuTTY", []string{"PuTTY-User-Key-File-"}, regexp.MustCompile(`PuTTY-User-Key-File-\d`), puttyIDs},
		{"OpenPGP", []string{"PGP PRIVATE KEY", "private-key "}, regexp.MustCompile(`BEGIN PGP PRIVATE KEY|\(?\d*:?(protected-|shadowed-)?private-key `), nil},
		{"OpenPGP", []string{"private-key("}, regexp.MustCompile(`\d:?(protected-|shadowed-)?private-key\(`), nil},
		{"age", []string{"AGE-SECRET-KEY-", "age-secret-key-", "AGE-PLUGIN-", "age-plugin-"}, regexp.MustCompile(`(?i)AGE-(SECRET-KEY|PLUGIN)-[A-Z0-9-]{20,}`), ageIDs},
		{"WireGuard", []string{"rivate"}, regexp.MustCompile(`(?i)private_?key"?\s*[=:]\s*"?[A-Za-z0-9+/]{43}=`), nil},
		{"minisign", []string{"encrypted secret key", "signify secret key"}, regexp.MustCompile(`minisign encrypted secret key|signify secret key`), nil},
		{"JWK", []string{`"kty"`}, regexp.MustCompile(`"kty"\s*:[^{}]*"d"\s*:\s*"|"d"\s*:\s*"[^{}]*"kty"\s*:`), nil},
		{"SSH1", []string{"SSH PRIVATE KEY FILE FORMAT"}, regexp.MustCompile(`SSH PRIVATE KEY FILE FORMAT`), nil},
	}
})

const openSSHMagic = "openssh-key-v1\x00"

func (s *search) texts(data []byte) {
	if bytes.Contains(data, []byte("PRIVATE KEY")) {
		s.pem(data)
	}
	if at := bytes.Index(data, []byte(openSSHMagic)); at >= 0 {
		s.add("OpenSSH", sshIDs(pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: data[at:]}), data[at:])...)
	}
	for _, m := range marks() {
		if !slices.ContainsFunc(m.marks, func(one string) bool { return bytes.Contains(data, []byte(one)) }) {
			continue
		}
		for _, found := range m.match.FindAll(data, -1) {
			var ids []string
			if m.ids != nil {
				ids = m.ids(data, found)
			}
			s.add(m.format, ids...)
		}
	}
	for magic, format := range map[string]string{"\xfe\xed\xfe\xed": "Java keystore", "\xce\xce\xce\xce": "Java keystore", "\x03\xd9\xa2\x9a": "KeePass"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			s.add(format)
		}
	}
}

func ageIDs(_, found []byte) []string {
	if bytes.HasPrefix(bytes.ToUpper(found), []byte("AGE-PLUGIN-")) {
		return []string{"age " + string(bytes.ToUpper(found))}
	}
	text := strings.ToUpper(string(found))
	if identity, err := age.ParseX25519Identity(text); err == nil {
		return []string{"age " + identity.Recipient().String()}
	}
	return []string{"age " + text} // of another kind
}

// nkeys finds seeds of NKeys. A regular expression is too slow for large files.
func (s *search) nkeys(data []byte) {
	const seed = 58 // characters
	from := 0
	for i := 0; i <= len(data); i++ {
		if i < len(data) && (data[i] >= 'A' && data[i] <= 'Z' || data[i] >= '2' && data[i] <= '7') {
			continue
		}
		if i-from == seed && data[from] == 'S' {
			if pair, err := nkeys.FromSeed(data[from:i]); err == nil {
				if public, err := pair.PublicKey(); err == nil {
					s.add("NKey", "nkey "+public)
				}
			}
		}
		from = i + 1
	}
}

var puttyPublic = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Public-Lines: \d+\s+((?:[A-Za-z0-9+/=]+\s+)+?)[A-Z][a-z-]+-(?:Lines|Derivation)`)
})

// puttyIDs returns the ids of all keys in a file: public parts follow the found header.
func puttyIDs(data, _ []byte) (ids []string) {
	for _, m := range puttyPublic().FindAllSubmatch(data, -1) {
		ids = append(ids, "ssh "+string(bytes.Join(bytes.Fields(m[1]), nil)))
	}
	return ids
}

var (
	pemBegin = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`-{3,5} ?BEGIN ([A-Z0-9 ]*)PRIVATE KEY( BLOCK)? ?-{3,5}`)
	})
	pemEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-{3,5} ?END [A-Z0-9 ]*PRIVATE KEY`) })
	// pemHeader matches a header of a legacy PEM block.
	pemHeader = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:Proc-Type|DEK-Info|Comment)[^\n\\]*`) })
	notBase64 = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\\[nrt]|\\u000[aAdD]|&#1[03];|%0[aAdD]|[^A-Za-z0-9+/=]`)
	})
)

// pem finds blocks as they may be written in other formats: indented, quoted, or with escaped line ends.
func (s *search) pem(data []byte) {
	for _, at := range pemBegin().FindAllSubmatchIndex(data, -1) {
		kind, body := string(data[at[2]:at[3]])+"PRIVATE KEY", data[at[1]:]
		if end := pemEnd().FindIndex(body); end != nil {
			body = body[:end[0]]
		}
		format := "PEM"
		if strings.HasPrefix(kind, "OPENSSH") {
			format = "OpenSSH"
		}
		text := notBase64().ReplaceAll(pemHeader().ReplaceAll(body, nil), nil)
		der, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(text), "="))
		if err != nil {
			s.add(format)
			continue
		}
		s.add(format, sshIDs(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), der)...)
	}
}

// sshIDs returns the ids of a key in PEM, and of its encoding.
func sshIDs(block, der []byte) []string {
	sum := sha256.Sum256(der)
	ids := []string{"sha256 " + hex.EncodeToString(sum[:])}
	signer, err := ssh.ParsePrivateKey(block)
	if locked, is := errors.AsType[*ssh.PassphraseMissingError](err); is && locked.PublicKey != nil {
		return append(ids, ID(locked.PublicKey))
	} else if err == nil {
		return append(ids, ID(signer.PublicKey()))
	}
	return append(ids, derIDs(der)...)
}

// derIDs returns the id of a key in PKCS#1, PKCS#8 or SEC 1, or nil.
func derIDs(der []byte) []string {
	for _, parse := range []func([]byte) (any, error){
		x509.ParsePKCS8PrivateKey, func(b []byte) (any, error) { return x509.ParsePKCS1PrivateKey(b) }, func(b []byte) (any, error) { return x509.ParseECPrivateKey(b) },
	} {
		key, err := parse(der)
		if err != nil {
			continue
		}
		if signer, is := key.(crypto.Signer); is {
			if public, err := ssh.NewPublicKey(signer.Public()); err == nil {
				return []string{ID(public)}
			}
		}
		return []string{""}
	}
	return nil
}

// der finds a key in DER: PKCS#1, PKCS#8, SEC 1 and PKCS#12.
func (s *search) der(data []byte) {
	if len(data) < 32 || data[0] != 0x30 {
		return
	}
	var whole asn1.RawValue
	if _, err := asn1.Unmarshal(data, &whole); err != nil || !whole.IsCompound {
		return
	}
	sum := sha256.Sum256(whole.FullBytes)
	id := "sha256 " + hex.EncodeToString(sum[:])
	if ids := derIDs(whole.FullBytes); ids != nil {
		s.add("DER", append(ids, id)...)
		return
	}
	var locked struct {
		Algorithm struct {
			ID         asn1.ObjectIdentifier
			Parameters asn1.RawValue `asn1:"optional"`
		}
		Data []byte
	}
	if _, err := asn1.Unmarshal(whole.FullBytes, &locked); err == nil {
		s.add("PKCS#8", id)
		return
	}
	var pkcs12 struct {
		Version int
		Safe    struct {
			ID      asn1.ObjectIdentifier
			Content asn1.RawValue `asn1:"optional"`
		}
		MAC asn1.RawValue `asn1:"optional"`
	}
	if _, err := asn1.Unmarshal(whole.FullBytes, &pkcs12); err == nil && pkcs12.Version == 3 {
		s.add("PKCS#12", id)
	}
}
