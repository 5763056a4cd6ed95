package auth

import (
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// sources are the sources of key candidates for a host.
type sources struct {
	files        []keyFile
	certificates []userCert // certificates of the target, and those next to its key files
	agent        []candidate
	explicit     bool   // the files were named
	only         bool   // nothing but the files
	last         string // id of the key that let the user in last
}

// candidates returns the keys in their order. Explicit files come first, each signed by the agent if the file itself
// cannot sign, then the agent's other keys. Without explicit files, the agent's keys come before the default files.
// Certificates in files come before all keys. Certificates of the agent come before its keys. The key that worked last
// comes before everything. No key occurs twice.
func (s sources) candidates() (list []candidate, remarks []string) {
	fromFiles, remarks := s.fromFiles()
	agent := slices.Clone(s.agent)
	if s.only {
		agent = slices.DeleteFunc(agent, func(c candidate) bool { return !s.named(c.PublicKey()) })
	}
	slices.SortStableFunc(agent, func(a, b candidate) int { return plainLast(a) - plainLast(b) })
	all := slices.Concat(agent, fromFiles)
	if s.explicit {
		all = slices.Concat(fromFiles, agent)
	}
	certified, more := s.certified(all)
	remarks = append(remarks, more...)
	all = slices.Concat(certified, all)
	if i := slices.IndexFunc(all, func(c candidate) bool { return c.id() == s.last }); i > 0 {
		all = slices.Concat(all[i:i+1], all[:i], all[i+1:])
	}
	for _, c := range all {
		if !slices.ContainsFunc(list, func(other candidate) bool { return other.id() == c.id() }) {
			list = append(list, c)
		}
	}
	return list, remarks
}

// fromFiles are the keys of files, each by the agent if the file itself cannot sign.
func (s sources) fromFiles() (list []candidate, remarks []string) {
	for _, f := range s.files {
		inAgent := slices.IndexFunc(s.agent, func(c candidate) bool { return f.public != nil && knownhosts.SameKey(c.PublicKey(), f.public) })
		switch {
		case f.signer != nil:
			list = append(list, newCandidate(f.name, f.signer))
		case inAgent >= 0:
			list = append(list, s.agent[inAgent])
		default:
			remarks = append(remarks, f.remark)
		}
	}
	return list, remarks
}

// named reports whether one of the files has the agent's key, or the key of the agent's certificate.
func (s sources) named(key ssh.PublicKey) bool {
	return slices.ContainsFunc(s.files, func(f keyFile) bool {
		return f.public != nil && knownhosts.SameKey(knownhosts.PlainKey(key), f.public)
	})
}

// certified are the certificates, each with the key that can sign for it.
func (s sources) certified(signers []candidate) (list []candidate, remarks []string) {
	for _, c := range s.certificates {
		if c.cert == nil {
			remarks = append(remarks, c.remark)
			continue
		}
		i := slices.IndexFunc(signers, func(key candidate) bool { return knownhosts.SameKey(key.PublicKey(), c.cert.Key) })
		if i < 0 {
			if c.named {
				remarks = append(remarks, c.name+" is for a key that is not there: "+knownhosts.Fingerprint(c.cert.Key))
			}
			continue
		}
		signer, err := ssh.NewCertSigner(c.cert, signers[i])
		if err != nil {
			remarks = append(remarks, c.name+": "+err.Error())
			continue
		}
		list = append(list, newCandidate(c.name, signer))
		if c.remark != "" {
			remarks = append(remarks, c.remark)
		}
	}
	return list, remarks
}

// plainLast ranks a key after certificates.
func plainLast(c candidate) int {
	if c.isCertificate() {
		return 0
	}
	return 1
}
