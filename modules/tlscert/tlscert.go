package tlscert

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/pki"
)

// A TLSCert is a certificate or a request for one, in PEM.
type TLSCert struct {
	Name   string   `json:"name" required:"true" looks:"^/" doc:"absolute path of the file"`
	Ensure string   `json:"ensure,omitempty" enum:"present,request,absent" default:"present" doc:"present: a certificate is there; request: a request for one (CSR), for an authority elsewhere; absent: nothing"`
	Key    string   `json:"key,omitempty" looks:"^/" doc:"absolute path, on the host, of its private key, such as one from tls_key; required for a self-signed certificate and for a request"`
	Names  []string `json:"names,omitempty" doc:"subject alternative names: DNS names, IP addresses, URIs, e-mail addresses; to set the kind, write DNS:, IP:, URI: or email: before the name"`
	// Parts has this name since Subject is a method of a resource.
	Parts  map[string]string `json:"subject,omitempty" doc:"its subject: CN, O, OU, C, ST, L, emailAddress, serialNumber; empty parts are omitted; default: the first of names as CN"`
	Usage  []string          `json:"usage,omitempty" enum:"server,client,email,code,ca" doc:"its purpose; ca: to sign other certificates; default: server"`
	CSR    string            `json:"csr,omitempty" looks:"^/" doc:"absolute path, on the host, of a request; the certificate takes subject, names and usage from it instead of from the properties"`
	Days   int               `json:"days,omitempty" doc:"days that it is valid, from the day that it is made; default: 365"`
	Renew  int               `json:"renew,omitempty" doc:"it is renewed when it is valid for fewer days than this; default: 30, or a third of days if that is less"`
	CACert string            `json:"ca_cert,omitempty" looks:"^/" doc:"absolute path, on the host, of the certificate of the authority that signs it; default: it is self-signed"`
	CAKey  string            `json:"ca_key,omitempty" looks:"^/" doc:"absolute path, on the host, of the private key of that authority"`
	Owner  string            `json:"owner,omitempty" doc:"name or id of its owner; default: unchanged; for a new file, the user that the play runs as"`
	Group  string            `json:"group,omitempty" doc:"name or id of its group; default: unchanged; for a new file, the group of the user that the play runs as"`
	Mode   string            `json:"mode,omitempty" numbers:"refuse" looks:"^(0[oO])?0?[0-7]?[0-7]{3}$" default:"0644" doc:"permissions in octal"`
	// Was, set if the resource undoes another one, is the earlier file.
	Was *file.File `json:"was,omitempty" wire:"only"`

	informed modules.Circumstances
}

// The values of ensure.
const (
	present = "present"
	request = "request"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "tls_cert",
		Doc: "Keeps a TLS certificate, self-signed or signed by an authority whose key is on the host, or a certificate request. " +
			"It is renewed before it expires, and when its key, names, subject or usage no longer match.",
		New: func() modules.Resource { return new(TLSCert) },
	}
}

// Requires implements [modules.Requirer].
func (c *TLSCert) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// Inform implements [modules.Informed].
func (c *TLSCert) Inform(about modules.Circumstances) { c.informed = about }

const (
	mostDays     = 36500
	defaultDays  = 365
	defaultRenew = 30
)

func (c *TLSCert) days() int { return cmp.Or(c.Days, defaultDays) }

func (c *TLSCert) renew() int { return cmp.Or(c.Renew, min(defaultRenew, c.days()/3)) }

// Validate implements [modules.Resource].
func (c *TLSCert) Validate() error {
	_, err := modules.ParseMode(cmp.Or(c.Mode, "0644"))
	errs := []error{
		modules.ValidatePath("name", c.Name), modules.ValidatePath("key", c.Key),
		modules.ValidatePath("ca_cert", c.CACert), modules.ValidatePath("ca_key", c.CAKey), modules.ValidatePath("csr", c.CSR), err,
	}
	if c.Ensure == absent || c.Was != nil {
		return errors.Join(errs...)
	}
	if c.Key == "" && (c.CSR == "" || c.CACert == "") {
		errs = append(errs, &modules.PropertyError{Path: "key", Msg: `"key" cannot be empty`, Hint: "write the path of its private key, which a tls_key resource makes"})
	}
	if c.Key != "" && c.Key == c.Name {
		errs = append(errs, modules.Errorf("key", "the certificate would take the place of its key"))
	}
	given := len(c.Names) > 0 || len(c.Parts) > 0
	switch {
	case c.CSR == "" && !given:
		errs = append(errs, &modules.PropertyError{Path: "names", Msg: `"names" cannot be empty without a subject`, Hint: "write names: [www.example.net]"})
	case c.CSR != "" && c.CSR == c.Name:
		errs = append(errs, modules.Errorf("csr", "the certificate would take the place of its request"))
	case c.CSR != "" && c.Ensure == request:
		errs = append(errs, modules.Errorf("csr", "'csr' applies to a certificate, and cannot be used with 'ensure: request'"))
	case c.CSR != "" && (given || len(c.Usage) > 0):
		errs = append(errs, modules.Errorf("csr", `"names", "subject" and "usage" come from the request`))
	}
	for i, name := range c.Names {
		parsed, err := parseName(name)
		switch {
		case err != nil:
			errs = append(errs, &modules.PropertyError{Path: fmt.Sprintf("names[%d]", i), Msg: err.Error(), Hint: "write a DNS name, an IP address, a URI or an e-mail address"})
		case i == 0 && len(c.Parts) == 0 && utf8.RuneCountInString(parsed.text) > mostCharacters("CN"):
			errs = append(errs, &modules.PropertyError{
				Path: "names[0]", Msg: fmt.Sprintf("it is the CN too, which has %d characters at most", mostCharacters("CN")), Hint: "write a subject with a shorter one",
			})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Parts)) {
		if err := validatePart(key, c.Parts[key]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, c.validateSigning()...)...)
}

// validatePart checks a part of the subject. An empty part is omitted.
func validatePart(key, value string) error {
	switch length := utf8.RuneCountInString(value); {
	case attribute(key) == nil:
		return &modules.PropertyError{Path: "subject." + key, Msg: fmt.Sprintf("a subject has no %q here", key), Hint: "write CN, O, OU, C, ST, L, emailAddress or serialNumber"}
	case key == "C" && value != "" && !isCountry(value):
		return &modules.PropertyError{Path: "subject.C", Msg: fmt.Sprintf("%q is not a country", value), Hint: "write the two letters that it has in ISO 3166, such as DE"}
	case length > mostCharacters(key):
		return modules.Errorf("subject."+key, "it has %d characters, and at most %d are allowed", length, mostCharacters(key))
	}
	return nil
}

func (c *TLSCert) validateSigning() (errs []error) {
	if c.Ensure == request {
		for _, p := range []struct {
			property string
			given    bool
		}{{"days", c.Days != 0}, {"renew", c.Renew != 0}, {"ca_cert", c.CACert != ""}, {"ca_key", c.CAKey != ""}} {
			if p.given {
				errs = append(errs, modules.Errorf(p.property, "'%s' applies to a certificate, and cannot be used with 'ensure: request'", p.property))
			}
		}
		return errs
	}
	if c.Days < 0 || c.Days > mostDays {
		errs = append(errs, modules.Errorf("days", `"days" must be from 1 to %[2]d, not %[1]d`, c.Days, mostDays))
	}
	if c.Renew < 0 || c.Renew >= c.days() {
		errs = append(errs, &modules.PropertyError{Path: "renew", Msg: fmt.Sprintf(`"renew" %d is not between 1 and 'days: %d'`, c.Renew, c.days()), Hint: "it would be renewed in each run"})
	}
	switch {
	case c.CACert != "" && c.CAKey == "":
		errs = append(errs, modules.Errorf("ca_key", "'ca_cert' needs 'ca_key', the private key of the authority"))
	case c.CAKey != "" && c.CACert == "":
		errs = append(errs, modules.Errorf("ca_cert", "'ca_key' needs 'ca_cert', the certificate of the authority"))
	case c.CACert != "" && c.CACert == c.Name:
		errs = append(errs, modules.Errorf("ca_cert", `the certificate would overwrite the certificate of its authority (for a self-signed certificate, remove "ca_cert")`))
	}
	return errs
}

func (c *TLSCert) output() *pki.Output {
	return &pki.Output{Path: c.Name, Owner: c.Owner, Group: c.Group, Mode: c.Mode, Absent: c.Ensure == absent, Was: c.Was, Informed: c.informed}
}
