package rooted

// RemoveListedTree is [RemoveTree] after it has found nothing mounted.
var RemoveListedTree = removeTree
