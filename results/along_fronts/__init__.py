"""What a front says: exchange rates, hypervolume, segments, fronts of many places."""
