package module

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// tlsEntry is an entry of the file of a key or a certificate; nil if it shall be absent, and is written already.
func tlsEntry(t *task.Task, typ string) *layout.Entry {
	path := t.Arg("path")
	if path == nil {
		t.Problem("%s without path", t.Module)
		return nil
	}
	e := &layout.Entry{Type: typ, Name: t.Place(path)}
	if state := t.OneOf(t.Arg("state"), presence); state == "absent" {
		e.SetText("ensure", state)
		t.Write(e)
		return nil
	}
	return e
}

// owned writes whom the file belongs to.
func owned(t *task.Task, e *layout.Entry) {
	for _, property := range []string{"owner", "group", "mode"} {
		t.Put(e, property, t.Arg(property))
	}
	t.Write(e)
}

// privateKeyTask writes RSA with 4096 bits where nothing is said, as Ansible has it.
func privateKeyTask(t *task.Task) {
	e := tlsEntry(t, "tls_key")
	if e == nil {
		return
	}
	switch regenerate := t.Arg("regenerate"); {
	case regenerate != nil && regenerate.Value != "full_idempotence" && regenerate.Value != "partial_idempotence":
		t.Problem("openssl_privatekey with regenerate: %s", regenerate.Value)
		return
	case regenerate != nil && regenerate.Value == "partial_idempotence":
		t.Note("a key with a passphrase, or one that cannot be read, is not replaced")
	}
	algorithm := "rsa"
	if n := t.Arg("type"); n != nil {
		algorithm = t.OneOf(n, map[string]string{"RSA": "rsa", "rsa": "rsa", "ECC": "ecdsa", "ecc": "ecdsa", "Ed25519": "ed25519", "ed25519": "ed25519"})
	}
	e.SetText("algorithm", algorithm)
	switch algorithm {
	case "rsa":
		if n := t.Arg("size"); n != nil {
			t.Put(e, "bits", n)
		} else {
			e.Set("bits", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "4096"})
		}
	case "ecdsa":
		e.SetText("curve", t.OneOf(t.Arg("curve"), map[string]string{"secp256r1": "p256", "secp384r1": "p384", "secp521r1": "p521"}))
	}
	if n := t.Arg("format"); n != nil {
		switch n.Value {
		case "pkcs1":
			e.SetText("format", "traditional")
		case "pkcs8":
			e.SetText("format", "pkcs8")
		case "auto", "auto_ignore":
		default:
			t.Problem("a key in the format %s", n.Value)
			return
		}
	}
	owned(t, e)
}

// requestTask is a request for a certificate.
func requestTask(t *task.Task) {
	e := tlsEntry(t, "tls_cert")
	if e == nil {
		return
	}
	if t.Arg("privatekey_path") == nil {
		t.Problem("openssl_csr without privatekey_path")
		return
	}
	e.SetText("ensure", "request")
	e.SetText("key", t.Place(t.Arg("privatekey_path")))
	requestNames(t, e)
	requestSubject(t, e)
	requestUsage(t, e)
	owned(t, e)
}

// requestNames writes the names; without any the common name is one, as Ansible has it.
func requestNames(t *task.Task, e *layout.Entry) {
	switch names := t.Arg("subject_alt_name"); {
	case names == nil:
		common, ok := yamlnode.BoolOf(t.Arg("use_common_name_for_san"))
		if n := t.Arg("common_name"); n != nil && (t.Arg("use_common_name_for_san") == nil || ok && common) {
			e.Set("names", yamlnode.Texts("DNS:"+t.Text(n)))
		}
	case names.Kind == yaml.ScalarNode && strings.Contains(names.Value, ",") && yamlnode.HasJinja(names):
		t.Problem("subject_alt_name with expressions and commas: write a list")
	case names.Kind == yaml.ScalarNode && !yamlnode.HasJinja(names):
		var all []string
		for one := range strings.SplitSeq(names.Value, ",") {
			all = append(all, strings.TrimSpace(one))
		}
		e.Set("names", yamlnode.Texts(all...))
	case names.Kind == yaml.ScalarNode && strings.HasPrefix(names.Value, "{{"):
		t.Put(e, "names", names)
	case names.Kind == yaml.ScalarNode:
		e.Set("names", yamlnode.Texts(t.Text(names)))
	default:
		t.Put(e, "names", names)
	}
}

// requestSubject writes the parts of the subject that have arguments of their own, or stand in a map.
func requestSubject(t *task.Task, e *layout.Entry) {
	var parts []any
	for _, part := range [][2]string{
		{"common_name", "CN"}, {"organization_name", "O"}, {"organizational_unit_name", "OU"}, {"country_name", "C"},
		{"state_or_province_name", "ST"}, {"locality_name", "L"}, {"email_address", "emailAddress"},
	} {
		if n := t.Arg(part[0]); n != nil {
			parts = append(parts, part[1], yamlnode.Text(t.Text(n)))
		}
	}
	long := map[string]string{
		"commonName": "CN", "organizationName": "O", "organizationalUnitName": "OU", "countryName": "C", "stateOrProvinceName": "ST", "localityName": "L",
		"CN": "CN", "O": "O", "OU": "OU", "C": "C", "ST": "ST", "L": "L", "emailAddress": "emailAddress", "serialNumber": "serialNumber",
	}
	if n := t.Arg("subject"); n != nil {
		if n.Kind != yaml.MappingNode {
			t.Problem("a subject that is an expression")
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, known := long[n.Content[i].Value]
			if !known || n.Content[i+1].Kind != yaml.ScalarNode {
				t.Problem("%s of the subject", n.Content[i].Value)
				return
			}
			parts = append(parts, name, yamlnode.Text(t.Text(n.Content[i+1])))
		}
	}
	if len(parts) > 0 {
		e.Set("subject", yamlnode.Map(parts...))
	}
}

// requestUsage writes what the certificate shall be for.
func requestUsage(t *task.Task, e *layout.Entry) {
	var all []string
	words := map[string]string{
		"serverAuth": "server", "clientAuth": "client", "codeSigning": "code", "emailProtection": "email",
		"TLS Web Server Authentication": "server", "TLS Web Client Authentication": "client", "Code Signing": "code", "E-mail Protection": "email",
	}
	for _, one := range yamlnode.Items(t.Arg("extended_key_usage")) {
		word, known := words[one.Value]
		if !known {
			t.Problem("the extended_key_usage %s", one.Value)
			return
		}
		all = append(all, word)
	}
	for _, one := range yamlnode.Items(t.Arg("basic_constraints")) {
		switch one.Value {
		case "CA:TRUE":
			all = append(all, "ca")
		case "CA:FALSE":
		default:
			t.Problem("the basic_constraints %s", one.Value)
			return
		}
	}
	if len(all) > 0 {
		e.Set("usage", yamlnode.Texts(all...))
	}
}

// daysShape is a time from now in days, or in weeks.
var daysShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\+([0-9]{1,4})(d|w)$`) })

// certificateTask is a certificate for a request, self-signed or of an authority on the host.
func certificateTask(t *task.Task) {
	e := tlsEntry(t, "tls_cert")
	if e == nil {
		return
	}
	if t.Arg("csr_path") == nil {
		t.Problem("x509_certificate without csr_path: names say what it is for")
		return
	}
	provider := ""
	if n := t.Arg("provider"); n != nil {
		provider = n.Value
	}
	validity := "selfsigned_not_after"
	switch provider {
	case "selfsigned":
	case "ownca":
		validity = "ownca_not_after"
	default:
		t.Problem("x509_certificate with the provider %s", provider)
		return
	}
	if n := t.Arg("privatekey_path"); n != nil {
		e.SetText("key", t.Place(n))
	} else if provider == "selfsigned" {
		t.Problem("x509_certificate without privatekey_path")
		return
	}
	e.SetText("csr", t.Place(t.Arg("csr_path")))
	if provider == "ownca" {
		for _, arg := range []string{"ownca_path", "ownca_privatekey_path"} {
			if t.Arg(arg) == nil {
				t.Problem("x509_certificate without %s", arg)
				return
			}
		}
		e.SetText("ca_cert", t.Place(t.Arg("ownca_path")))
		e.SetText("ca_key", t.Place(t.Arg("ownca_privatekey_path")))
	}
	days := 3650 // as Ansible has it
	if n := t.Arg(validity); n != nil {
		parts := daysShape().FindStringSubmatch(n.Value)
		if parts == nil {
			t.Problem("%s that is no number of days, such as +365d", validity)
			return
		}
		days, _ = strconv.Atoi(parts[1])
		if parts[2] == "w" {
			days *= 7
		}
	}
	e.Set("days", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(days)})
	owned(t, e)
}
