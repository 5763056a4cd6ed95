//go:build !host

package semanage

import "github.com/ccm-push/ccm-push/modules"

// Relations are those of a resource that changes what a policy has been given on the host: it comes after what chooses
// the policy, and after its packages. The policy is built as a whole, so no two do that at once.
func Relations() []modules.Relation {
	all := []modules.Relation{modules.Rewrites("selinux"), {Verb: modules.Needs, Thing: modules.PathOf(Config), Why: "choice of the policy"}}
	for _, name := range []string{"policycoreutils", "policycoreutils-python-utils", "semanage-utils", "selinux-policy-targeted", "selinux-policy-default"} {
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingPackage, Key: name}, Weak: true, Why: "package of SELinux"})
	}
	return all
}
