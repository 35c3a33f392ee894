package collective

func childMain() bool { return false }
