package trust

import (
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// A hostJSON is a line of JSON about a host.
type hostJSON struct {
	Host     string    `json:"host"`
	Name     string    `json:"known_as"` // in known_hosts
	Status   state     `json:"status"`
	JumpFor  string    `json:"jump_host_for,omitempty"`
	File     string    `json:"file,omitempty"` // known_hosts file of its keys
	Keys     []keyJSON `json:"keys"`
	SameKeys []string  `json:"same_keys_as,omitempty"` // other hosts that show one of them
	Error    string    `json:"error"`
	Hint     string    `json:"hint"`
	Warning  string    `json:"warning,omitempty"`
}

type keyJSON struct {
	Type        string `json:"type"`
	Fingerprint string `json:"fingerprint"`
	Vouched     *bool  `json:"vouched,omitempty"` // whether the fingerprints have it
}

// showJSON prints one line for each host.
func (e *enrolment) showJSON(verdicts []*verdict) error {
	for _, v := range verdicts {
		line := hostJSON{
			Host: v.target.Host, Name: v.target.KnownName(), Status: v.state, JumpFor: v.jumpFor,
			Keys: e.jsonKeys(v), SameKeys: e.sameKeys(v), Error: v.why, Hint: v.hint,
		}
		if v.state == stateNew || v.state == stateAdded {
			line.File = e.fleet.Dialer.TrustFile(v.target)
		}
		if v.scan.Certificate != nil {
			line.Warning = v.scan.Certificate.Error()
		}
		text, err := printable.JSON(line)
		if err == nil {
			_, err = e.options.Out.Write(append(text, '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// jsonKeys returns all keys that the host has shown.
func (e *enrolment) jsonKeys(v *verdict) []keyJSON {
	keys := []keyJSON{}
	for _, k := range v.scan.Keys {
		one := keyJSON{Type: k.Type(), Fingerprint: ssh.FingerprintSHA256(k)}
		if e.options.Fingerprints != nil {
			good, _ := e.options.Fingerprints.hosts.vouched(v.target, []ssh.PublicKey{k})
			vouched := len(good) > 0
			one.Vouched = &vouched
		}
		keys = append(keys, one)
	}
	return keys
}

// sameKeys are the other hosts that show a key of this one.
func (e *enrolment) sameKeys(v *verdict) []string {
	mine := keyLines(v.scan.Keys)
	var hosts []string
	for _, other := range e.asked {
		if other.target.KnownName() != v.target.KnownName() &&
			slices.ContainsFunc(keyLines(other.scan.Keys), func(k string) bool { return slices.Contains(mine, k) }) {
			hosts = append(hosts, other.target.Host)
		}
	}
	return hosts
}
