"""One run as a view holds it: controller, follower, services, and the words of its end."""
