package playbooks

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/transport"
)

// maskInventory adds the secrets of all hosts to the mask, also of hosts outside of the run, since templates see them,
// too. It reports whether there are any.
func (r *Runner) maskInventory(mask *secret.Mask) (some bool) {
	r.maskPasswords(mask)
	if r.Inventory == nil {
		return false
	}
	for _, l := range r.Inventory.Layers() {
		if l.Node.Secret {
			eachSecret(l.Node, mask.Add)
			some = true
		}
	}
	return some
}

// maskPasswords adds the passwords of the operator and of the inventory. It omits a password that is also the name of a
// login user or of an escalation's user: paths and errors are full of that name.
func (r *Runner) maskPasswords(mask *secret.Mask) {
	var passwords []string
	for _, p := range []*transport.Secret{r.Connect.Password, r.Connect.BecomePassword} {
		if p != nil {
			passwords = append(passwords, string(p.Reveal()))
		}
	}
	if r.Inventory != nil {
		passwords = append(passwords, r.Inventory.Passwords()...)
	}
	if len(passwords) == 0 {
		return
	}
	users := r.users()
	for _, password := range passwords {
		if !users[password] {
			mask.Add(password)
		}
	}
}

// users returns the users as which the run logs in, and the users of escalations.
func (r *Runner) users() map[string]bool {
	users := map[string]bool{}
	for _, play := range r.Plays {
		users[play.BecomeUser] = true
	}
	if r.Inventory == nil {
		return users
	}
	for _, h := range r.Inventory.Hosts() {
		conn := h.Connection()
		users[r.Connect.Login(conn)] = true
		if become := r.Connect.Escalate(reach.Escalation{}, conn); become != nil {
			users[become.User] = true
		}
	}
	return users
}

// eachSecret visits the secrets below n. Sealed ones are added to the mask when they are opened.
func eachSecret(n *yamlpos.Node, visit func(text string)) {
	switch {
	case !n.Secret || n.Sealed != nil:
	case n.Kind == yamlpos.Scalar:
		visit(n.Text)
	}
	for _, item := range n.Items {
		eachSecret(item, visit)
	}
	for _, p := range n.Pairs {
		eachSecret(p.Value, visit)
	}
}
