//go:build !host

package semanage

import "github.com/ccm-push/ccm-push/modules"

// Relations returns the relations of a resource that changes the host's additions to a policy: it comes after the
// resource that chooses the policy, and after its packages. The policy is rebuilt as a whole, so these resources run
// one after the other.
func Relations() []modules.Relation {
	all := []modules.Relation{modules.Rewrites("selinux"), {Verb: modules.Needs, Thing: modules.PathOf(Config), Why: "choice of the policy"}}
	for _, name := range []string{"policycoreutils", "policycoreutils-python-utils", "semanage-utils", "selinux-policy-targeted", "selinux-policy-default"} {
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingPackage, Key: name}, Weak: true, Why: "package of SELinux"})
	}
	return all
}
