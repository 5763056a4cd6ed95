// Package dsc reads DSC configuration documents: what shall be true of a host, as
// instances of DSC resources. Everything that can be known without a host is known when
// a document has been read: parameters, variables, user functions and loops are
// evaluated, groups and included documents are flattened, and the instances stand in an
// order in which each follows what it depends on. What depends on the host travels as
// expressions; see modules/dsc/expr, which evaluates at both ends.
//
// Nothing of running may come in: modules/dsc keeps an instance on its host, and
// playbooks/events tells the result as dsc does.
package dsc
